# SPDX-License-Identifier: Apache-2.0
"""Options of the engine: limits, time-outs, features, plug-ins."""

from __future__ import annotations

from oslo_config import cfg

_SIGNAL_TRANSPORTS = [
    ("CFN_SIGNAL", "an HTTP POST to a CloudFormation URL that carries its signature"),
    ("TEMP_URL_SIGNAL", "a temporary URL of object storage that takes a PUT"),
    ("HEAT_SIGNAL", "the native signal API, with credentials of a stack user"),
    ("ZAQAR_SIGNAL", "a message queue, with credentials of a stack user"),
]
_CONFIG_TRANSPORTS = [
    ("POLL_SERVER_CFN", "the CloudFormation API, with EC2 credentials"),
    ("POLL_SERVER_HEAT", "the native metadata API, with credentials of a stack user"),
    ("POLL_TEMP_URL", "a temporary URL of object storage"),
    ("ZAQAR_MESSAGE", "a message queue"),
]
_USER_DATA_FORMATS = [
    ("HEAT_CFNTOOLS", "the boot data of heat-cfntools, which reads metadata from the CloudFormation API"),
    ("RAW", "the user data as it is"),
    ("SOFTWARE_CONFIG", "the metadata of software deployments beside the user data"),
]

engine: list[cfg.Opt] = [
    cfg.ListOpt(
        "plugin_dirs",
        default=["/usr/lib64/heat", "/usr/lib/heat", "/usr/local/lib/heat", "/usr/local/lib64/heat"],
        help="Directories that are searched for resource plug-ins.",
    ),
    cfg.StrOpt(
        "environment_dir",
        default="/etc/heat/environment.d",
        help="Directory of the environment files that hold for every stack.",
    ),
    cfg.StrOpt("template_dir", default="/etc/heat/templates", help="Directory of the operator's own templates."),
    cfg.StrOpt(
        "deferred_auth_method",
        choices=["password", "trusts"],
        default="trusts",
        deprecated_for_removal=True,
        deprecated_since="9.0.0",
        deprecated_reason="Passwords are not to be stored; trusts are what remains.",
        help="How the service acts for a user after the user's request has ended: "
        "by the stored password or by a Keystone trust.",
    ),
    cfg.StrOpt(
        "reauthentication_auth_method",
        choices=["", "trusts"],
        default="",
        help="Whether a request that outlives its token goes on by a trust. "
        "Users can then act beyond the life of their tokens.",
    ),
    cfg.BoolOpt(
        "allow_trusts_redelegation",
        default=False,
        help="Make trusts that may be passed on. Needed where services that are called make trusts themselves; "
        "it widens what a stolen trust can do.",
    ),
    cfg.ListOpt(
        "trusts_delegated_roles",
        default=[],
        help="Roles to hand over in a trust; none means all roles of the user in the project.",
    ),
    cfg.IntOpt("max_resources_per_stack", default=1000, help="Resources that a tree of stacks may have; -1: no limit."),
    cfg.IntOpt("max_stacks_per_tenant", default=512, help="Stacks that a project may have at one time; -1: no limit."),
    cfg.IntOpt(
        "max_software_configs_per_tenant",
        default=4096,
        help="Software configurations that a project may have at one time; -1 is no limit.",
    ),
    cfg.IntOpt(
        "max_software_deployments_per_tenant",
        default=4096,
        help="Software deployments that a project may have at one time; -1 is no limit.",
    ),
    cfg.IntOpt(
        "max_snapshots_per_stack", default=32, help="Snapshots that a stack may have at one time; -1 is no limit."
    ),
    cfg.IntOpt("action_retry_limit", default=5, help="How often a resource's action is tried before it has failed."),
    cfg.IntOpt(
        "client_retry_limit",
        default=2,
        help="How often a call to another service is repeated after a connection error.",
    ),
    cfg.IntOpt(
        "max_server_name_length",
        default=53,
        max=53,
        help="Longest name of a server. Nova puts a dash and a short id behind it, so there is less room than a host "
        "name has.",
    ),
    cfg.IntOpt(
        "max_interface_check_attempts",
        min=1,
        default=10,
        help="How often the attachment or detachment of a network interface is looked for.",
    ),
    cfg.StrOpt(
        "max_nova_api_microversion",
        regex=r"^2\.\d+$",
        help="Newest compute API microversion to use; unset means the newest that the service has.",
    ),
    cfg.StrOpt(
        "max_cinder_api_microversion",
        regex=r"^3\.\d+$",
        help="Newest block storage API microversion to use; unset means the newest that the service has.",
    ),
    cfg.StrOpt(
        "max_ironic_api_microversion",
        regex=r"^1\.\d+$",
        help="Newest bare metal API microversion to use; unset means the newest that the service has.",
    ),
    cfg.IntOpt(
        "event_purge_batch_size",
        min=1,
        default=200,
        help="How many old events are removed at once when a stack has too many. "
        "A small number removes often, a large one lets more events pile up.",
    ),
    cfg.IntOpt(
        "max_events_per_stack",
        default=1000,
        help="Events that are kept of a stack; the oldest go first. The limit can be passed by "
        "event_purge_batch_size. 0 keeps all.",
    ),
    cfg.IntOpt("stack_action_timeout", default=3600, help="Seconds after which a stack's action has failed."),
    cfg.IntOpt(
        "error_wait_time",
        default=240,
        help="Seconds that resources in progress are given to end after another one has failed.",
    ),
    cfg.IntOpt(
        "engine_life_check_timeout",
        default=2,
        help="Seconds that another engine has for its answer to whether it is alive.",
    ),
    cfg.BoolOpt("enable_stack_abandon", default=False, help="Offer abandoning of stacks."),
    cfg.BoolOpt("enable_stack_adopt", default=False, help="Offer adoption of stacks."),
    cfg.BoolOpt(
        "convergence_engine",
        default=True,
        deprecated_for_removal=True,
        deprecated_reason="There is one engine.",
        help="Kept for existing configuration files; every stack is run by the convergent engine.",
    ),
    cfg.BoolOpt(
        "observe_on_update",
        default=False,
        help="Compare resources with their real state before an update, and update what differs.",
    ),
    cfg.StrOpt(
        "default_software_config_transport",
        choices=_CONFIG_TRANSPORTS,
        default="POLL_SERVER_CFN",
        help="How a server fetches its metadata when its template does not say.",
    ),
    cfg.StrOpt(
        "default_deployment_signal_transport",
        choices=_SIGNAL_TRANSPORTS,
        default="CFN_SIGNAL",
        help="How a deployment reports back when its template does not say.",
    ),
    cfg.StrOpt(
        "default_user_data_format",
        choices=_USER_DATA_FORMATS,
        default="HEAT_CFNTOOLS",
        help="What is made of a server's user data when its template does not say.",
    ),
    cfg.ListOpt("hidden_stack_tags", default=[], help="Stacks with one of these tags are left out of ordinary lists."),
    cfg.BoolOpt(
        "stack_scheduler_hints",
        default=False,
        help="Tell the schedulers of compute and block storage which stack and resource a request is for.",
    ),
    cfg.BoolOpt(
        "encrypt_parameters_and_properties",
        default=False,
        help="Encrypt hidden parameters and all properties of resources before they are stored.",
    ),
    cfg.FloatOpt(
        "metadata_put_timeout", default=60, help="Seconds that object storage has to take a server's metadata."
    ),
    cfg.FloatOpt("template_fetch_timeout", default=60, help="Seconds that the server of a template URL has to answer."),
    cfg.IntOpt("max_template_size", default=524288, help="Largest size in bytes of a template."),
    cfg.IntOpt("max_nested_stack_depth", default=5, help="How deep stacks may be nested."),
    cfg.IntOpt(
        "num_engine_workers",
        min=1,
        help="Number of engine processes on this node; unset means the number of its CPUs, at least four.",
    ),
    cfg.StrOpt(
        "server_keystone_endpoint_type",
        choices=[
            ("", "the identity endpoint that this service uses itself"),
            ("public", "the public endpoint"),
            ("internal", "the internal endpoint"),
            ("admin", "the admin endpoint"),
        ],
        default="",
        help="Which identity endpoint of the catalogue servers are told to use.",
    ),
]

volumes: list[cfg.Opt] = [
    cfg.BoolOpt(
        "backups_enabled",
        default=True,
        help="Whether block storage has its backup service; it cannot be asked.",
    ),
]

notification: list[cfg.Opt] = [
    cfg.StrOpt("default_notification_level", default="INFO", help="Level of the notifications that are sent."),
    cfg.StrOpt("default_publisher_id", help="Publisher of the notifications; unset means one made of the host."),
]

yaql: list[cfg.Opt] = [
    cfg.IntOpt("limit_iterators", default=200, help="How many elements an expression may take from a collection."),
    cfg.IntOpt("memory_quota", default=10000, help="How many bytes an expression may use for collections."),
]

resources: list[cfg.Opt] = [
    cfg.StrOpt("loadbalancer_template", help="A template to use for AWS load balancers instead of the built-in one."),
]

GROUPS: list[tuple[str | None, list[cfg.Opt]]] = [(None, engine), ("volumes", volumes)]
