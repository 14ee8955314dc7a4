# SPDX-License-Identifier: Apache-2.0
"""RPC methods about stacks."""

from __future__ import annotations

from typing import Any

from openkeel_heat.engine.operations import lifecycle, lookup, migrate, prepare, preview, show
from openkeel_heat.engine.service.endpoint import Endpoints, endpoint


class StackEndpoints(Endpoints):
    @endpoint
    def identify_stack(self, context: Any, stack_name: str) -> Any:
        return lookup.identify(context, stack_name)

    @endpoint
    def show_stack(self, context: Any, stack_identity: Any, resolve_outputs: bool = True) -> Any:
        return show.show(context, stack_identity, resolve_outputs)

    @endpoint
    def list_stacks(
        self,
        context: Any,
        limit: Any = None,
        marker: Any = None,
        sort_keys: Any = None,
        sort_dir: Any = None,
        filters: Any = None,
        tenant_safe: bool = True,
        show_deleted: bool = False,
        show_nested: bool = False,
        show_hidden: bool = False,
        tags: Any = None,
        tags_any: Any = None,
        not_tags: Any = None,
        not_tags_any: Any = None,
    ) -> Any:
        return show.list_stacks(
            context,
            filters,
            tenant_safe,
            limit,
            marker,
            sort_keys,
            sort_dir,
            show_deleted=show_deleted,
            show_nested=show_nested,
            show_hidden=show_hidden,
            tags=tags,
            tags_any=tags_any,
            not_tags=not_tags,
            not_tags_any=not_tags_any,
        )

    @endpoint
    def count_stacks(
        self,
        context: Any,
        filters: Any = None,
        tenant_safe: bool = True,
        show_deleted: bool = False,
        show_nested: bool = False,
        show_hidden: bool = False,
        tags: Any = None,
        tags_any: Any = None,
        not_tags: Any = None,
        not_tags_any: Any = None,
    ) -> Any:
        return show.count_stacks(
            context,
            filters,
            tenant_safe,
            show_deleted=show_deleted,
            show_nested=show_nested,
            show_hidden=show_hidden,
            tags=tags,
            tags_any=tags_any,
            not_tags=not_tags,
            not_tags_any=not_tags_any,
        )

    @endpoint
    def preview_stack(
        self,
        context: Any,
        stack_name: str,
        template: Any,
        params: Any,
        files: Any,
        args: Any,
        environment_files: Any = None,
        files_container: Any = None,
    ) -> Any:
        stack = prepare.new_stack(
            context, stack_name, template, params, files, args, environment_files, files_container
        )
        return preview.preview_create(stack)

    @endpoint
    def create_stack(
        self,
        context: Any,
        stack_name: str,
        template: Any,
        params: Any,
        files: Any,
        args: Any,
        environment_files: Any = None,
        files_container: Any = None,
        owner_id: Any = None,
        nested_depth: int = 0,
        user_creds_id: Any = None,
        stack_user_project_id: Any = None,
        parent_resource_name: Any = None,
        template_id: Any = None,
    ) -> Any:
        stack = prepare.new_stack(
            context,
            stack_name,
            template,
            params,
            files,
            args,
            environment_files,
            files_container,
            owner_id,
            nested_depth,
            user_creds_id,
            stack_user_project_id,
            parent_resource_name,
            template_id,
        )
        return lifecycle.create(self.runtime, context, stack)

    @endpoint
    def update_stack(
        self,
        context: Any,
        stack_identity: Any,
        template: Any,
        params: Any,
        files: Any,
        args: Any,
        environment_files: Any = None,
        files_container: Any = None,
        template_id: Any = None,
    ) -> Any:
        return lifecycle.update(
            self.runtime,
            context,
            stack_identity,
            template,
            params,
            files,
            args,
            environment_files,
            files_container,
            template_id,
        )

    @endpoint
    def preview_update_stack(
        self,
        context: Any,
        stack_identity: Any,
        template: Any,
        params: Any,
        files: Any,
        args: Any,
        environment_files: Any = None,
        files_container: Any = None,
    ) -> Any:
        return preview.preview_update(
            context, stack_identity, template, params, files, args, environment_files, files_container
        )

    @endpoint
    def validate_template(
        self,
        context: Any,
        template: Any,
        params: Any = None,
        files: Any = None,
        environment_files: Any = None,
        files_container: Any = None,
        show_nested: bool = False,
        ignorable_errors: Any = None,
    ) -> Any:
        return preview.validate_template(
            context, template, params, files, environment_files, files_container, show_nested, ignorable_errors
        )

    @endpoint
    def delete_stack(self, context: Any, stack_identity: Any) -> None:
        lifecycle.delete(self.runtime, context, stack_identity)

    @endpoint
    def abandon_stack(self, context: Any, stack_identity: Any, abandon: bool = True) -> Any:
        return lifecycle.abandon(self.runtime, context, stack_identity, abandon)

    @endpoint
    def export_stack(self, context: Any, stack_identity: Any) -> Any:
        return lifecycle.abandon(self.runtime, context, stack_identity, really=False)

    @endpoint
    def stack_suspend(self, context: Any, stack_identity: Any) -> None:
        lifecycle.act(self.runtime, context, stack_identity, "SUSPEND")

    @endpoint
    def stack_resume(self, context: Any, stack_identity: Any) -> None:
        lifecycle.act(self.runtime, context, stack_identity, "RESUME")

    @endpoint
    def stack_check(self, context: Any, stack_identity: Any) -> None:
        lifecycle.act(self.runtime, context, stack_identity, "CHECK")

    @endpoint
    def stack_cancel_update(self, context: Any, stack_identity: Any, cancel_with_rollback: bool = True) -> None:
        lifecycle.cancel_update(self.runtime, context, stack_identity, cancel_with_rollback)

    @endpoint
    def get_template(self, context: Any, stack_identity: Any) -> Any:
        return show.template(context, stack_identity)

    @endpoint
    def get_environment(self, context: Any, stack_identity: Any) -> Any:
        return show.environment(context, stack_identity)

    @endpoint
    def get_files(self, context: Any, stack_identity: Any) -> Any:
        return show.files(context, stack_identity)

    @endpoint
    def list_outputs(self, context: Any, stack_identity: Any) -> Any:
        return show.list_outputs(context, stack_identity)

    @endpoint
    def show_output(self, context: Any, stack_identity: Any, output_key: str) -> Any:
        return show.show_output(context, stack_identity, output_key)

    @endpoint
    def migrate_convergence_1(self, context: Any, stack_id: str) -> None:
        migrate.migrate(context, self.runtime.engine_id, stack_id)
