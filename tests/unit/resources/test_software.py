# SPDX-License-Identifier: Apache-2.0
"""Software configs and deployments as resources."""
from __future__ import annotations

import datetime
import email
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs, urlparse

import pytest
import yaml

from openkeel_heat.common import clock, exceptions as exception
from openkeel_heat.resources.heat.structured_config import StructuredDeployment
from openkeel_heat.resources.kit import lifecycle, software_io
from openkeel_heat.resources.kit.lifecycle import Pause
from tests.unit.resources.fakes import Driver, FakeClients, FakeStack, drive, hot
from tests.unit.resources.test_types import FakeKeystone, Plugin, created, only

SERVER = '7f1e7a34-0000-4000-8000-000000000001'


def clients(**more: Any) -> FakeClients:
    return FakeClients(keystone=Plugin(FakeKeystone()), heat=HeatPlugin(), **more)


class HeatPlugin(Plugin):
    service_types: list[str] = []

    def is_not_found(self, ex: BaseException) -> bool:
        return isinstance(ex, exception.NotFound)

    def is_conflict(self, ex: BaseException) -> bool:
        return False


def one(kind: str, **props: Any) -> Any:
    return only({'type': 'OS::Heat::' + kind, 'properties': props}, clients=clients())


def updated(resource: Any, **props: Any) -> Driver:
    """A driver of the update to these properties."""
    after = FakeStack(hot({resource.name: {'type': resource.type(), 'properties': props}})).defn
    return Driver(lifecycle.update(resource, after.resource_definition(resource.name)), resource)


# --- configs


def test_a_config() -> None:
    resource = created(one('SoftwareConfig', group='script', config='#!', options={'o': 1},
                           inputs=[{'name': 'i', 'type': 'Number', 'default': 3}],
                           outputs=[{'name': 'o', 'error_output': True}]))
    config = resource.stack.software.configs[resource.resource_id]
    assert resource.FnGetRefId() == resource.resource_id == resource.uuid
    assert (config['name'], config['group'], config['options']) == (
        resource.physical_resource_name(), 'script', {'o': 1})
    assert resource.FnGetAtt('config') == '#!' and resource.FnGetAtt('show') == config
    driver = drive(lifecycle.delete(resource), resource)
    assert driver.short[-1] == 'DELETE_COMPLETE' and not resource.stack.software.configs
    assert resource.FnGetAtt('config') is None


def test_nothing_given() -> None:
    resource = created(one('SoftwareConfig'))
    config = resource.stack.software.configs[resource.resource_id]
    assert config['group'] == 'Heat::Ungrouped' and config['inputs'] == [] and config['options'] == {}


def test_any_change_replaces_a_config() -> None:
    resource = created(one('SoftwareConfig', config='1'))
    with pytest.raises(exception.UpdateReplace):
        updated(resource, config='2').run()


def test_a_config_is_made_once() -> None:
    """An engine dies between making the config and storing its id: the next finds it."""
    resource = one('SoftwareConfig', config='1')
    Driver(lifecycle.create(resource), resource).step()
    resource.stack.software.create_config(resource, {'id': resource.uuid, 'config': 'as it was'})
    drive(lifecycle.resume_action(resource), resource)
    assert resource.resource_id == resource.uuid and len(resource.stack.software.configs) == 1
    assert resource.FnGetAtt('config') == 'as it was'


def test_a_config_whose_id_was_not_stored_is_deleted() -> None:
    resource = one('SoftwareConfig', config='1')
    Driver(lifecycle.create(resource), resource).step()
    resource.stack.software.create_config(resource, {'id': resource.uuid})
    resource.record.status = 'FAILED'
    drive(lifecycle.delete(resource), resource)
    assert not resource.stack.software.configs


def test_component() -> None:
    configs = [{'actions': ['CREATE'], 'config': 'c', 'tool': 'script'},
               {'actions': ['DELETE', 'own'], 'config': 'd', 'tool': 'script'}]
    resource = one('SoftwareComponent', configs=configs, inputs=[{'name': 'i'}])
    resource.validate()
    created(resource)
    config = resource.stack.software.configs[resource.resource_id]
    assert config['group'] == 'component' and config['config'] == {'configs': configs}
    assert [entry['name'] for entry in config['inputs']] == ['i']
    assert resource._resolve_attribute('configs') == configs


def test_two_configs_for_one_action() -> None:
    entry = {'actions': ['CREATE', 'UPDATE'], 'tool': 'script'}
    resource = one('SoftwareComponent', configs=[entry, {**entry, 'actions': ['UPDATE']}])
    with pytest.raises(exception.StackValidationFailed, match=(
            'Defining more than one configuration for the same action in SoftwareComponent "r" is not allowed.')):
        resource.validate()


@pytest.mark.parametrize('configs, text', [
    ([], 'length .0. is out of range'),
    ([{'tool': 'x', 'actions': []}], 'length .0. is out of range'),
    ([{'actions': ['CREATE']}], 'Property tool not assigned'),
])
def test_bad_components(configs: Any, text: str) -> None:
    with pytest.raises(exception.StackValidationFailed, match=text):
        one('SoftwareComponent', configs=configs).validate()


def test_cloud_config() -> None:
    data = {'users': [{'name': 'a', 'sudo': None}], 'packages': ['x'], 'n': 1}
    text = created(one('CloudConfig', cloud_config=data)).FnGetAtt('config')
    assert text == '#cloud-config\nn: 1\npackages:\n- x\nusers:\n- name: a\n  sudo: null\n'
    assert yaml.safe_load(text) == data


# --- multi-part messages


def parts_of(text: str) -> list[tuple[str, str | None, str]]:
    message = email.message_from_string(text)
    assert message.get_content_type() == 'multipart/mixed'
    return [(part.get_content_type(), part.get_filename(), part.get_payload(decode=True).decode())
            for part in message.get_payload()]


def test_parts() -> None:
    resource = one('MultipartMime', parts=[
        {'config': '#!/bin/sh', 'subtype': 'x-shellscript', 'filename': 'a.sh'},
        {'config': 'plain'},
        {'config': 'grün', 'filename': 'cloud-config.yaml'},
        {'config': SERVER},
    ])
    assert parts_of(created(resource).FnGetAtt('config')) == [
        ('text/x-shellscript', 'a.sh', '#!/bin/sh'),
        ('text/plain', None, 'plain'),
        ('text/cloud-config', 'cloud-config.yaml', 'grün'),
        ('text/plain', None, SERVER),
    ]


def test_parts_that_are_configs_and_messages() -> None:
    inner = created(one('MultipartMime', parts=[{'config': 'über', 'subtype': 'a', 'filename': 'f'},
                                                {'config': 'two', 'subtype': 'b'}]))
    nested = created(one('MultipartMime', parts=[{'config': inner.FnGetAtt('config'), 'type': 'multipart'},
                                                 {'config': 'no message', 'type': 'multipart'}]))
    other = SERVER.replace('7', '8')
    resource = one('MultipartMime', group='g', parts=[{'config': SERVER}, {'config': other, 'type': 'multipart'}])
    software = resource.stack.software
    software.configs = {SERVER: {'config': 'of the config'}, other: {'config': nested.FnGetAtt('config')}}
    created(resource)
    assert software.configs[resource.resource_id]['group'] == 'g'
    assert parts_of(resource.FnGetAtt('config')) == [
        ('text/plain', None, 'of the config'), ('text/a', 'f', 'über'), ('text/b', None, 'two')]


# --- deployments


def deployment(kind: str = 'SoftwareDeployment', source: dict[str, Any] | None = None, more: Any = None,
               **props: Any) -> Any:
    """A deployment of the config ``source``, not created yet."""
    properties = {'config': 'the-config', 'server': SERVER, **props}
    stack = FakeStack(hot({'r': {'type': 'OS::Heat::' + kind, 'properties': properties}}), clients=clients(
        **(more or {})))
    stack.software.configs['the-config'] = {
        'id': 'the-config', 'name': 'c', 'group': 'script', 'config': 'echo', 'inputs': [], 'outputs': [],
        'options': {}, **(source or {})}
    return stack['r']


def started(resource: Any) -> Driver:
    return Driver(lifecycle.create(resource), resource).run(until=Pause)


def derived_of(resource: Any) -> dict[str, Any]:
    software = resource.stack.software
    return software.configs[software.deployments[resource.resource_id]['config_id']]


def values_of(resource: Any) -> dict[str, Any]:
    return {entry['name']: entry.get('value') for entry in derived_of(resource)['inputs']}


def test_not_waiting() -> None:
    resource = deployment(signal_transport='NO_SIGNAL', input_values={'a': 1, 'b': [2]}, source={
        'inputs': [{'name': 'a', 'type': 'Number', 'default': 5}, {'name': 'c', 'default': 'd'}],
        'outputs': [{'name': 'o'}], 'options': {'x': 1}})
    resource.validate()
    assert created(resource).state == ('CREATE', 'COMPLETE')
    made = resource.stack.software.deployments[resource.resource_id]
    assert (made['status'], made['status_reason'], made['action'], made['server_id']) == (
        'COMPLETE', 'Not waiting for outputs signal', 'CREATE', SERVER)
    config = derived_of(resource)
    assert (config['name'], config['group'], config['config'], config['options']) == ('c', 'script', 'echo', {'x': 1})
    assert values_of(resource) == {
        'a': 1, 'b': [2], 'c': 'd', 'deploy_server_id': SERVER, 'deploy_action': 'CREATE',
        'deploy_stack_id': 'st/' + resource.stack.id, 'deploy_resource_name': 'r',
        'deploy_signal_transport': 'NO_SIGNAL'}
    assert resource.FnGetAtt('o') is None and resource.FnGetAtt('deploy_stdout') is None
    with pytest.raises(exception.InvalidTemplateAttribute):
        resource.FnGetAtt('other')


def test_outputs_by_signal() -> None:
    resource = deployment(signal_transport='HEAT_SIGNAL', name='own', source={'outputs': [{'name': 'o'}]})
    driver = started(resource)
    assert driver.steps[-1].wake_on == ('deployment', resource.resource_id)
    values = values_of(resource)
    assert derived_of(resource)['name'] == 'own'
    assert (values['deploy_user_id'], values['deploy_auth_url'], values['deploy_project_id'],
            values['deploy_region_name'], values['deploy_username'], values['deploy_password']) == (
        'user', 'http://keystone/v3', 'stack-user-project', 'RegionOne', resource.physical_resource_name(),
        resource.data()['password'])
    resource.signal({'o': 1})
    assert resource.stack.software.calls[-1] == ('signal', {'o': 1})
    assert resource.stack.store.events == [
        ('SIGNAL', 'IN_PROGRESS', 'Signal: deployment %s succeeded' % resource.resource_id)]
    resource.stack.software.answer(resource.resource_id, o={'k': [1]}, deploy_status_code=0)
    assert driver.run().short == ['CREATE_IN_PROGRESS', 'CREATE_COMPLETE']
    assert resource.FnGetAtt('o', 'k', 0) == 1 and resource.FnGetAtt('deploy_status_code') == 0


def test_failure() -> None:
    resource = deployment(signal_transport='HEAT_SIGNAL')
    driver = started(resource)
    resource.stack.software.answer(resource.resource_id, 'FAILED', 'deploy_status_code : Deployment exited with '
                                   'non-zero status code: 3')
    with pytest.raises(exception.ResourceFailure):
        driver.run()
    assert resource.status_reason == ('Error: resources.r: Deployment to server failed: deploy_status_code : '
                                      'Deployment exited with non-zero status code: 3')


def test_signed_url() -> None:
    resource = deployment()     # CFN_SIGNAL is the default
    started(resource)
    values = values_of(resource)
    assert values['deploy_signal_verb'] == 'POST' and values['deploy_signal_transport'] == 'CFN_SIGNAL'
    url = urlparse(values['deploy_signal_id'])
    assert url.path.startswith('/v1/signal/arn%3Aopenstack%3Aheat') and parse_qs(url.query)['AWSAccessKeyId'] == ['AK']


def test_no_config() -> None:
    resource = only({'type': 'OS::Heat::SoftwareDeployment', 'properties': {
        'server': SERVER, 'signal_transport': 'NO_SIGNAL'}}, clients=clients())
    created(resource)
    config = derived_of(resource)
    assert (config['group'], config['config'], config['name']) == (
        'Heat::Ungrouped', '', resource.physical_resource_name())
    with pytest.raises(exception.InvalidTemplateAttribute):
        resource.FnGetAtt('other')


def test_config_that_is_not_there() -> None:
    resource = deployment(config='none', signal_transport='NO_SIGNAL')
    with pytest.raises(exception.ResourceFailure, match='NotFound: resources.r: Software config with id none not '):
        created(resource)


def test_actions() -> None:
    """The config is applied in the actions it is for; DELETE alone makes a deployment then."""
    resource = created(deployment(actions=['SUSPEND', 'RESUME', 'DELETE'], signal_transport='NO_SIGNAL'))
    assert resource.resource_id is None and resource.state == ('CREATE', 'COMPLETE')
    for action in (lifecycle.suspend, lifecycle.resume, lifecycle.delete):
        drive(action(resource), resource)
    assert [call for call in resource.stack.software.calls if call[0] == 'deploy'] == [
        ('deploy', 'SUSPEND'), ('deploy', 'RESUME'), ('deploy', 'DELETE')]
    assert not resource.stack.software.deployments and list(resource.stack.software.configs) == ['the-config']


def test_actions_of_a_component() -> None:
    source = {'group': 'component', 'config': {'configs': [{'actions': ['DELETE'], 'tool': 't'}]}}
    resource = created(deployment(source=source, signal_transport='NO_SIGNAL'))
    assert not resource.stack.software.deployments
    drive(lifecycle.delete(resource), resource)
    assert resource.stack.software.calls[0] == ('deploy', 'DELETE')


def test_update() -> None:
    resource = created(deployment(signal_transport='NO_SIGNAL'))
    before = resource.stack.software.deployments[resource.resource_id]['config_id']
    assert updated(resource, config='the-config', server=SERVER, signal_transport='NO_SIGNAL',
                   input_values={'x': 1}).run().short[-1] == 'UPDATE_COMPLETE'
    assert values_of(resource)['x'] == 1 and values_of(resource)['deploy_action'] == 'UPDATE'
    assert before not in resource.stack.software.configs
    with pytest.raises(exception.UpdateReplace):
        updated(resource, config='the-config', server='another', signal_transport='NO_SIGNAL').run()


@pytest.mark.parametrize('replaces', [True, False])
def test_replace_on_change(replaces: bool) -> None:
    resource = created(deployment(signal_transport='NO_SIGNAL', input_values={'i': 1}, source={
        'inputs': [{'name': 'i', 'replace_on_change': replaces}]}))
    same = {'config': 'the-config', 'server': SERVER, 'signal_transport': 'NO_SIGNAL'}
    updated(resource, **same, input_values={'i': 1, 'other': 1}).run()
    driver = updated(resource, **same, input_values={'i': 2})
    if replaces:
        with pytest.raises(exception.UpdateReplace):
            driver.run()
    else:
        driver.run()


def test_cancelled() -> None:
    resource = deployment(signal_transport='HEAT_SIGNAL')
    driver = started(resource)

    class Cancelled(BaseException):
        pass

    driver.throw(Cancelled('stop'))
    made = resource.stack.software.deployments[resource.resource_id]
    assert (made['status'], made['status_reason']) == ('FAILED', 'Deployment cancelled.')


@pytest.mark.parametrize('format_, fails', [('RAW', True), ('SOFTWARE_CONFIG', False), (None, False)])
def test_servers_must_take_part(monkeypatch: pytest.MonkeyPatch, format_: Any, fails: bool) -> None:
    resource = deployment(signal_transport='NO_SIGNAL')
    server = type('Server', (), {'properties': {'user_data_format': format_}})
    monkeypatch.setattr(resource.stack, 'resource_by_refid', lambda reference: server)
    if not fails:
        return resource.validate()
    with pytest.raises(exception.StackValidationFailed, match="user_data_format should be set to SOFTWARE_CONFIG"):
        resource.validate()


# --- deployments: deleting


class Nova:
    """The part of a Nova plug-in that is needed."""

    def __init__(self, *servers: str) -> None:
        self.servers = servers

    def get_server(self, server: str) -> None:
        if server not in self.servers:
            raise exception.EntityNotFound(entity='Server', name=server)


def deleting(more: Any = None) -> tuple[Any, Driver]:
    resource = deployment(actions=['CREATE', 'DELETE'], signal_transport='HEAT_SIGNAL', more=more)
    driver = started(resource)
    resource.stack.software.answer(resource.resource_id)
    driver.run()
    return resource, Driver(lifecycle.delete(resource), resource)


def test_delete_waits_for_the_server() -> None:
    resource, driver = deleting({'nova': Nova(SERVER)})
    driver.run(until=Pause)
    resource.stack.software.answer(resource.resource_id)
    assert driver.run().short[-1] == 'DELETE_COMPLETE'
    assert not resource.stack.software.deployments and 'user' not in resource.keystone().users


def test_delete_fails_with_the_server() -> None:
    resource, driver = deleting({'nova': Nova(SERVER)})
    driver.run(until=Pause)
    resource.stack.software.answer(resource.resource_id, 'FAILED', 'bad')
    with pytest.raises(exception.ResourceFailure, match='Deployment to server failed: bad'):
        driver.run()


def test_delete_does_not_wait_for_a_server_that_is_gone() -> None:
    resource, driver = deleting({'nova': Nova()})
    assert driver.run().short[-1] == 'DELETE_COMPLETE' and not driver.pauses


def test_delete_without_nova() -> None:
    """A server that is a resource of ours is waited for; of another nothing can be known."""
    resource, driver = deleting()
    with pytest.raises(exception.ResourceFailure,
                       match=r'ClientNotAvailable: resources.r: The client \(nova\) is not available.'):
        driver.run()
    resource, driver = deleting()
    resource.stack.software.servers = {SERVER}
    driver.run(until=Pause)
    resource.stack.software.answer(resource.resource_id)
    assert driver.run().short[-1] == 'DELETE_COMPLETE'


def test_delete_without_the_config() -> None:
    resource, driver = deleting()
    del resource.stack.software.configs['the-config']
    assert driver.run().short[-1] == 'DELETE_COMPLETE' and not resource.stack.software.deployments


# --- deployments: after the death of an engine


def deploys(resource: Any) -> int:
    return len([call for call in resource.stack.software.calls if call[0] == 'deploy'])


def test_resumed_before_the_deployment_was_made() -> None:
    resource = deployment(signal_transport='HEAT_SIGNAL')
    Driver(lifecycle.create(resource), resource).step()
    resource.resource_id_set(resource.uuid)
    driver = Driver(lifecycle.resume_action(resource), resource).run(until=Pause)
    assert deploys(resource) == 1
    resource.stack.software.answer(resource.resource_id)
    assert driver.run().short[-1] == 'CREATE_COMPLETE'


def test_resumed_while_waiting() -> None:
    resource = deployment(signal_transport='CFN_SIGNAL')
    started(resource)
    driver = Driver(lifecycle.resume_action(resource), resource).run(until=Pause)
    resource.stack.software.answer(resource.resource_id)
    assert driver.run().short[-1] == 'CREATE_COMPLETE' and deploys(resource) == 1


@pytest.mark.parametrize('meanwhile, again', [
    (lambda software, key: None, False),
    (lambda software, key: software.answer(key), True),     # perhaps of an update before
    (lambda software, key: software.deployments[key].update(
        status='COMPLETE', updated_time=clock.isotime(clock.utcnow() + datetime.timedelta(minutes=1))), False),
    (lambda software, key: software.answer(key, 'FAILED'), True),
    (lambda software, key: software.configs[software.deployments[key]['config_id']].update(config='x'), True),
], ids=['waiting', 'answered', 'answered since', 'failed', 'another config'])
def test_an_update_is_deployed_once(meanwhile: Callable[[Any, str], None], again: bool) -> None:
    resource = deployment(signal_transport='CFN_SIGNAL')
    driver = started(resource)
    software = resource.stack.software
    software.answer(resource.resource_id)
    driver.run()
    after = FakeStack(hot({'r': {'type': 'OS::Heat::SoftwareDeployment', 'properties': {
        'config': 'the-config', 'server': SERVER, 'input_values': {'x': 1}}}})).defn.resource_definition('r')
    Driver(lifecycle.update(resource, after), resource).run(until=Pause)
    meanwhile(software, resource.resource_id)
    resource.reparse()
    driver = Driver(lifecycle.resume_action(resource, after), resource)
    while not driver.done and not isinstance(driver.step(), Pause):
        pass
    assert deploys(resource) == (3 if again else 2)


# --- structured deployments


@pytest.mark.parametrize('data, expected', [
    ({'a': {'get_input': 'x'}}, {'a': 1}),
    ({'a': [{'get_input': 'none'}, 'text', 2, None]}, {'a': [None, 'text', 2, None]}),
    ({'a': {'get_input': 'x', 'more': 1}}, {'a': {'get_input': 'x', 'more': 1}}),
    ({'a': {'get_input': ['x']}}, {'a': {'get_input': ['x']}}),
    ({'get_input': 'x'}, 1),
    (None, None),
])
def test_inputs_in_data(data: Any, expected: Any) -> None:
    assert StructuredDeployment.parse({'x': 1}, 'get_input', data) == expected


def test_inputs_that_must_be_there() -> None:
    with pytest.raises(exception.UserParameterMissing, match=r'The Parameter \(y\) was not provided.'):
        StructuredDeployment.parse({'x': 1}, 'in', {'a': {'in': 'y'}}, 'STRICT')


def test_structured_deployment() -> None:
    resource = created(deployment(
        'StructuredDeployment', signal_transport='NO_SIGNAL', input_key='in', input_values={'x': {'k': 1}},
        source={'config': {'a': {'in': 'x'}, 'b': {'in': 'deploy_action'}, 'c': {'get_input': 'x'}}}))
    assert derived_of(resource)['config'] == {'a': {'k': 1}, 'b': 'CREATE', 'c': {'get_input': 'x'}}
    resource = created(deployment('StructuredDeployment', signal_transport='NO_SIGNAL', source={'config': None}))
    assert derived_of(resource)['config'] == {}


# --- groups


def group(kind: str = 'SoftwareDeploymentGroup', outputs: Any = None, update_policy: Any = None, **props: Any) -> Any:
    definition = {'type': 'OS::Heat::' + kind, 'properties': {'config': 'c', **props}}
    if update_policy:
        definition['update_policy'] = update_policy
    return FakeStack(hot({'r': definition}, outputs=outputs or {}), clients=clients())['r']


def members(resource: Any) -> dict[str, Any]:
    return resource.stack.nested_stacks.children[resource.resource_id]['template'].t.get('resources') or {}


def test_group() -> None:
    read = {key: {'value': {'get_attr': path}} for key, path in
            {'a': ['r', 'deploy_stdouts'], 'b': ['r', 'own', 'one']}.items()}
    resource = group(servers={'one': 's1', 'two': 's2'}, input_values={'x': 1}, outputs=read)
    driver = Driver(lifecycle.create(resource), resource).run(until=Pause)
    assert {name: member['properties']['server'] for name, member in members(resource).items()} == {
        'one': 's1', 'two': 's2'}
    member = members(resource)['one']
    assert member['type'] == 'OS::Heat::SoftwareDeployment' and member['properties'] == {
        'server': 's1', 'config': 'c', 'input_values': {'x': 1}, 'actions': ['CREATE', 'UPDATE'], 'name': None,
        'signal_transport': 'CFN_SIGNAL'}
    outputs = resource.stack.nested_stacks.children[resource.resource_id]['template'].t['outputs']
    assert outputs == {
        'attributes, deploy_stdout': {'value': {name: {'get_attr': [name, 'deploy_stdout']} for name in members(
            resource)}},
        'attributes, own': {'value': {name: {'get_attr': [name, 'own']} for name in members(resource)}}}
    resource.stack.nested_stacks.finish(**{'attributes, deploy_stdout': {'one': 'text', 'two': None},
                                           'attributes, own': {'one': 1, 'two': 2}})
    driver.run()
    assert resource.FnGetAtt('deploy_stdouts') == {'one': 'text', 'two': None}
    assert resource.FnGetAtt('own', 'two') == 2


def test_structured_group() -> None:
    resource = group('StructuredDeploymentGroup', servers={'one': 's1'}, input_key='k')
    Driver(lifecycle.create(resource), resource).run(until=Pause)
    member = members(resource)['one']
    assert member['type'] == 'OS::Heat::StructuredDeployment'
    assert (member['properties']['input_key'], member['properties']['input_values_validate']) == ('k', 'LAX')


def test_group_in_batches() -> None:
    servers = {str(number): 's%d' % number for number in range(3)}
    resource = group(servers=servers, update_policy={'batch_create': {'max_batch_size': 2},
                                                     'rolling_update': {'max_batch_size': 1}})
    driver = Driver(lifecycle.create(resource), resource)
    sizes = []
    while not driver.done:
        if isinstance(driver.step(), Pause):
            if not sizes or sizes[-1] != len(members(resource)):
                sizes.append(len(members(resource)))
            resource.stack.nested_stacks.finish()
    assert sizes[-2:] == [2, 3]
    policy = {'update_policy': {'rolling_update': {'max_batch_size': 1}}}
    after = FakeStack(hot({'r': {'type': 'OS::Heat::SoftwareDeploymentGroup', **policy, 'properties': {
        'config': 'c', 'servers': servers, 'input_values': {'x': 1}}}})).defn.resource_definition('r')
    driver = Driver(lifecycle.update(resource, after), resource)
    changed = []
    while not driver.done:
        if isinstance(driver.step(), Pause):
            changed.append(sum(bool(member['properties']['input_values']) for member in members(resource).values()))
            resource.stack.nested_stacks.finish()
    assert sorted(set(changed)) == [1, 2, 3]


def test_other_servers_in_a_rolling_update() -> None:
    """A member whose server is not named any more goes, one for a new server comes."""
    policy = {'rolling_update': {'max_batch_size': 1}}
    resource = group(servers={'one': 's1', 'two': 's2'}, update_policy=policy)
    driver = Driver(lifecycle.create(resource), resource).run(until=Pause)
    resource.stack.nested_stacks.finish()
    driver.run()
    after = FakeStack(hot({'r': {'type': 'OS::Heat::SoftwareDeploymentGroup', 'update_policy': policy, 'properties': {
        'config': 'c', 'servers': {'two': 's2', 'three': 's3'}}}})).defn.resource_definition('r')
    driver = Driver(lifecycle.update(resource, after), resource)
    while not driver.done:
        if isinstance(driver.step(), Pause):
            assert 'one' not in members(resource)
            resource.stack.nested_stacks.finish()
    assert {name: member['properties']['server'] for name, member in members(resource).items()} == {
        'two': 's2', 'three': 's3'}


# --- inputs and outputs


def test_inputs() -> None:
    entry = software_io.InputConfig(name='i', type='Number', default=3)
    assert entry.as_dict() == {'name': 'i', 'type': 'Number', 'default': 3} and entry.input_data() == ('i', None)
    assert not entry.replace_on_change() and entry.default() == 3
    entry = software_io.InputConfig(value=None, name='i', replace_on_change=True, description='d')
    assert entry.as_dict() == {'name': 'i', 'type': 'String', 'description': 'd', 'replace_on_change': True,
                               'value': None}
    assert repr(software_io.OutputConfig(name='o')) == "OutputConfig(name='o', type='String', error_output=False)"
    # Configs of long ago have '' as default of any type.
    assert software_io.InputConfig(name='i', type='Json', default='').default() == ''


@pytest.mark.parametrize('values', [{}, {'name': 'i', 'type': 'x'}, {'name': 'i', 'type': 'Number', 'default': 'x'},
                                    {'name': 'i', 'more': 1}])
def test_bad_inputs(values: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        software_io.InputConfig(**values)


@pytest.mark.parametrize('value', ['text', {'a': 1}, [1], None])
def test_bad_lists(value: Any) -> None:
    with pytest.raises(TypeError):
        software_io.check_io_schema_list(value)
