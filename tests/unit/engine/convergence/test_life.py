# SPDX-License-Identifier: Apache-2.0
"""Whole lives of stacks in an engine of this process: also with messages lost, doubled and out of order, over a running
action, cut short, and with work that another engine left."""
from __future__ import annotations

import collections
import contextlib
import datetime
import json
import random
import secrets
import threading
import uuid
from collections.abc import Iterator
from typing import Any

import pytest

from openkeel_heat.clients.local import LocalKeystone
from openkeel_heat.common import clock
from openkeel_heat.db import nodes, recovery, resources, session, stacks, sync_points
from openkeel_heat.db.nodes import Write
from openkeel_heat.engine.convergence.driver import Cancelled
from openkeel_heat.engine.convergence.recovery import Recovery, adopt
from openkeel_heat.engine.convergence.worker import WorkerService
from openkeel_heat.engine.nested import EngineNestedStacks
from openkeel_heat.engine.stack import Stack
from openkeel_heat.resources.kit import attributes
from openkeel_heat.rpc import messaging
from tests.fixtures import templates
from tests.fixtures.checks import Database
from tests.fixtures.polling import until

hot, resource = templates.hot, templates.resource


class Life:
    """One stack."""

    def __init__(self, engine: Any) -> None:
        self.engine, self.client = engine, engine.client
        self.hub = engine.engine._hub
        self.name = 'life-' + secrets.token_hex(4)
        self.identity: dict[str, str] = {}
        self.database = Database(str(session.get_engine().url))

    def create(self, template: Any, wait: bool = True, files: Any = None, params: Any = None, **args: Any) -> Life:
        self.identity = self.client.create_stack(self.engine.context(), self.name, template, params or {}, files or {},
                                                 args)
        if wait:
            self.settle('CREATE_COMPLETE')
        return self

    def update(self, template: Any, wait: bool = True, **args: Any) -> None:
        self.client.update_stack(self.engine.context(), self.identity, template, {}, {}, args)
        if wait:
            self.settle('UPDATE_COMPLETE')

    def delete(self) -> None:
        self.client.delete_stack(self.engine.context(), self.identity, cast=False)
        self.settle('DELETE_COMPLETE')
        assert self.database.leftovers(self.id) == []

    @property
    def id(self) -> str:
        return self.identity['stack_id']

    @property
    def row(self) -> Any:
        return stacks.get(self.id, show_deleted=True)

    def settle_state(self, state: str, limit: float = 30) -> Any:
        def final() -> Any:
            row = self.row
            return row if f'{row.action}_{row.status}' == state else None
        return until(final, f'{self.name} is {state}', limit, pause=0.005)

    def settle(self, state: str, limit: float = 30) -> Any:
        row = self.settle_state(state, limit)
        until(lambda: not self.database.unrest() or not sync_points.list_inputs(self.id, row.current_traversal), 'rest')
        return row

    def resources(self) -> dict[str, Any]:
        return {row.name: row for row in resources.list_by_stack(self.id)}

    def when(self, name: str, state: str) -> Any:
        def reached() -> Any:
            row = self.resources().get(name)
            return row if row is not None and f'{row.action}_{row.status}' == state else None
        return until(reached, f'{name} is {state}', 15, pause=0.005)

    def events(self) -> list[tuple[str, str]]:
        found = self.client.list_events(self.engine.context(), self.identity)
        return [(e['resource_name'], f"{e['resource_action']}_{e['resource_status']}") for e in reversed(found)]


@pytest.fixture
def life(engine) -> Iterator[Life]:
    one = Life(engine)
    yield one
    if one.identity and one.row.deleted_at is None:
        one.delete()


@contextlib.contextmanager
def crowded(hub: Any) -> Iterator[None]:
    """Every node goes over the bus."""
    room, hub.room = hub.room, 0
    try:
        yield
    finally:
        hub.room = room


SLOW = {'create': 20}


def slow(**waits: int) -> Any:
    return resource('s', action_wait_secs=waits or SLOW)


# the common course --------------------------------------------------------------------------------------------------

def test_create_update_replace_delete(life):
    life.create(templates.flat())
    before = life.resources()
    assert [before[name].requires for name in 'ab'] == [[], [before['a'].id]]
    life.update(templates.flat(salt='2', generation='y', extra='e'))
    after = life.resources()
    assert set(after) == {'a', 'b', 'd', 'e'}
    assert after['a'].id == before['a'].id and after['d'].id != before['d'].id
    assert after['a'].stored_properties['value'] == 'a2' and after['b'].stored_properties['value'] == 'a2'
    assert {row.current_template_id for row in after.values()} == {life.row.raw_template_id}
    life.delete()


def test_nothing_to_do_moves_to_the_new_template_without_events(life):
    life.create(templates.flat())
    before = len(life.events())
    life.update(templates.flat())
    assert life.events()[before:] == [(life.name, 'UPDATE_IN_PROGRESS'), (life.name, 'UPDATE_COMPLETE')]
    assert {row.current_template_id for row in life.resources().values()} == {life.row.raw_template_id}
    assert life.row.prev_raw_template_id is None


def test_empty_stack(life):
    life.create(hot({}))
    life.update(hot({'a': resource()}))
    life.update(hot({}))
    assert life.resources() == {}


def test_failed_update_rolls_back(life):
    life.create(templates.flat())
    life.update(templates.flat(salt='2', generation='y', extra='e', fail=True), wait=False, disable_rollback=False)
    life.settle('ROLLBACK_COMPLETE')
    assert set(life.resources()) == {'a', 'b', 'c', 'd'}
    assert life.resources()['a'].stored_properties['value'] == 'a1'
    states = [state for name, state in life.events() if name == life.name]
    assert states[2:] == ['UPDATE_IN_PROGRESS', 'UPDATE_FAILED', 'ROLLBACK_IN_PROGRESS', 'ROLLBACK_COMPLETE']


def test_failed_create_is_mended_by_an_update(life):
    life.create(hot({'a': resource('1'), 'b': resource('2', ['a'], fail=True), 'c': resource('3', ['b'])}), wait=False)
    row = life.settle('CREATE_FAILED')
    assert row.current_traversal == ''
    assert row.status_reason == 'Resource CREATE failed: ValueError: resources.b: Test Resource failed b'
    failed = life.resources()['b'].id
    life.update(hot({'a': resource('1'), 'b': resource('2', ['a']), 'c': resource('3', ['b'])}))
    assert life.resources()['b'].id != failed


def test_suspend_resume_check_snapshot(life):
    life.create(templates.flat())
    context = life.engine.context()
    for call, state in ((life.client.stack_suspend, 'SUSPEND_COMPLETE'), (life.client.stack_resume, 'RESUME_COMPLETE'),
                        (life.client.stack_check, 'CHECK_COMPLETE')):
        call(context, life.identity)
        life.settle(state)
    order = [name for name, state in life.events() if state == 'SUSPEND_COMPLETE']
    assert order.index('c') < order.index('b') < order.index('a')
    order = [name for name, state in life.events() if state == 'RESUME_COMPLETE']
    assert order.index('a') < order.index('b') < order.index('c')
    snapshot = life.client.stack_snapshot(context, life.identity, 'shot')
    assert life.settle('SNAPSHOT_COMPLETE').current_traversal == snapshot['id']
    assert life.client.show_snapshot(context, life.identity, snapshot['id'])['status'] == 'COMPLETE'
    life.update(templates.flat(salt='2'))
    life.client.stack_restore(context, life.identity, snapshot['id'])
    life.settle('RESTORE_COMPLETE')
    assert life.resources()['a'].stored_properties['value'] == 'a1'
    life.client.delete_snapshot(context, life.identity, snapshot['id'])
    until(lambda: not life.client.stack_list_snapshots(context, life.identity), 'no snapshot')
    life.client.stack_snapshot(context, life.identity, 'other')
    life.settle('SNAPSHOT_COMPLETE')
    life.delete()


def test_nested(life):
    life.create(templates.nested(2), files=templates.files())
    life.delete()


# over a running action ----------------------------------------------------------------------------------------------

def test_delete_over_create_does_not_wait(life):
    life.create(hot({'a': slow(), 'b': resource('2', ['a'])}), wait=False)
    life.when('a', 'CREATE_IN_PROGRESS')
    life.delete()
    events = life.events()
    assert ('a', 'CREATE_FAILED') in events and ('a', 'DELETE_COMPLETE') in events
    assert events.index((life.name, 'CREATE_FAILED')) < events.index((life.name, 'DELETE_IN_PROGRESS'))


def test_update_over_update(life):
    life.create(hot({'a': resource('1')}))
    body = {'action_wait_secs': {'update': 1}}
    life.update(hot({'a': resource('2', **body), 'b': resource('1')}), wait=False)
    life.when('a', 'UPDATE_IN_PROGRESS')
    life.update(hot({'a': resource('3'), 'c': resource('1', ['a'])}))
    assert set(life.resources()) == {'a', 'c'}
    assert life.resources()['a'].stored_properties == {'value': '3'}


def test_cancel_without_rollback_lets_resources_end(life):
    life.create(hot({'a': slow(create=1), 'b': resource('2', ['a'])}), wait=False)
    life.when('a', 'CREATE_IN_PROGRESS')
    life.client.stack_cancel_update(life.engine.context(), life.identity, cancel_with_rollback=False)
    assert life.settle('CREATE_FAILED').status_reason == 'Stack CREATE cancelled'
    life.when('a', 'CREATE_COMPLETE')
    assert life.resources()['b'].action == 'INIT'


def test_cancel_with_rollback(life):
    life.create(hot({'a': resource('1')}))
    life.update(hot({'a': resource('2'), 'b': slow(create=1)}), wait=False)
    life.when('b', 'CREATE_IN_PROGRESS')
    life.client.stack_cancel_update(life.engine.context(), life.identity, cancel_with_rollback=True)
    life.settle('ROLLBACK_COMPLETE')
    assert set(life.resources()) == {'a'} and life.resources()['a'].stored_properties == {'value': '1'}


def test_time_out(life, monkeypatch):
    life.create(hot({'a': slow(), 'b': resource('2', ['a'])}), wait=False, timeout_mins=1)
    life.when('a', 'CREATE_IN_PROGRESS')
    (found,) = life.hub.traversals.of_stack(life.id)
    monkeypatch.setattr(found, 'seconds_left', lambda: 0.0)
    life.hub.time_is_over(found)
    assert life.settle('CREATE_FAILED').status_reason == 'Timed out'
    reason = life.when('a', 'CREATE_FAILED').status_reason
    assert reason.startswith('CREATE aborted (Task create from TestResource "a"') and reason.endswith('Timed out)')


def test_hundreds_in_progress(life):
    size = 400  # the scheduler's own test has the thousands
    life.create(hot({f'r{n}': slow(create=1) for n in range(size)}), wait=False)
    until(lambda: len(life.hub.scheduler) >= size / 2, 'many are under way', 20, pause=0.005)
    assert life.hub.scheduler.threads <= 32
    life.settle('CREATE_COMPLETE', 60)


# messages -----------------------------------------------------------------------------------------------------------

class Faults:
    """Loses, doubles and delays casts of nodes."""

    def __init__(self, seed: int, worker: Any, lose: float = 0.0, double: float = 0.0) -> None:
        self.random = random.Random(seed)
        self.worker, self.lose, self.double = worker, lose, double
        self.counts: collections.Counter[str] = collections.Counter()

    def check_resource(self, context: Any, *args: Any, **kwargs: Any) -> None:
        value = self.random.random()
        if value < self.lose:
            self.counts['lost'] += 1
            return
        self.counts['sent'] += 1
        times = 1
        if value > 1 - self.double:
            self.counts['doubled'] += 1
            times = 2
        for _ in range(times):
            timer = threading.Timer(self.random.uniform(0, 0.05), self.worker.check_resource, (context, *args), kwargs)
            timer.start()

    def cancel_check_resource(self, *args: Any) -> None:
        self.worker.cancel_check_resource(*args)


@pytest.mark.parametrize('seed', [1, 2, 3])
def test_lost_doubled_and_late_messages(life, seed, monkeypatch):
    hub = life.hub
    faults = Faults(seed, hub.worker_client, lose=0.2, double=0.4)
    monkeypatch.setattr(hub, 'worker_client', faults)
    looking = Recovery(hub)
    with crowded(hub):
        life.create(templates.flat(), wait=False)

        def settled(action: str) -> bool:
            looking.scan()
            row = life.row
            assert row.status != 'FAILED', row.status_reason
            return (row.action, row.status) == (action, 'COMPLETE')
        until(lambda: settled('CREATE'), 'created', 30)
        life.update(templates.flat(salt='2', generation='y', extra='e'), wait=False)
        until(lambda: settled('UPDATE'), 'updated', 30)
        assert set(life.resources()) == {'a', 'b', 'd', 'e'}
        made = collections.Counter(event for event in life.events() if event[1] == 'CREATE_COMPLETE')
        assert made == {(life.name, 'CREATE_COMPLETE'): 1, ('a', 'CREATE_COMPLETE'): 1, ('b', 'CREATE_COMPLETE'): 1,
                        ('c', 'CREATE_COMPLETE'): 1, ('d', 'CREATE_COMPLETE'): 2, ('e', 'CREATE_COMPLETE'): 1}
        life.client.delete_stack(life.engine.context(), life.identity, cast=False)
        until(lambda: settled('DELETE'), 'deleted', 30)
    assert faults.counts['doubled']
    assert life.database.leftovers(life.id) == []


def test_a_message_of_a_former_traversal_does_nothing(life):
    life.create(hot({'a': resource('1')}))
    former = life.row.current_traversal
    life.update(hot({'a': resource('2')}))
    before = life.resources()['a']
    life.hub.worker_client.check_resource(life.engine.context(), before.id, former, {'input_data': {}}, True, None)
    life.hub.worker_client.check_resource(life.engine.context(), 10 ** 6, former, {'input_data': {}}, True, None)
    assert life.hub.scheduler.drain(10)
    assert life.resources()['a'].atomic_key == before.atomic_key


# what others left ---------------------------------------------------------------------------------------------------

DEAD = str(uuid.uuid4())


@pytest.fixture
def graveyard(life, monkeypatch):
    """An engine that is dead."""
    monkeypatch.setattr(life.hub.liveness, '_probe', lambda engine_id: engine_id != DEAD)
    monkeypatch.setattr(life.hub.liveness, '_known', {})
    return Recovery(life.hub)


def test_a_lock_of_a_dead_engine_is_taken_over(life, graveyard):
    life.create(hot({'a': resource('1')}))
    row = life.resources()['a']
    nodes.apply(life.id, None, [Write(row.id, None, row.atomic_key, {
        'engine_id': DEAD, 'action': 'UPDATE', 'status': 'IN_PROGRESS'})])
    graveyard.scan()
    until(lambda: life.resources()['a'].engine_id is None, 'free')
    assert life.database.unrest() == []


@pytest.mark.parametrize('action', ['create', 'update', 'suspend', 'delete'])
def test_an_engine_that_slept_starts_no_nested_stack(life, graveyard, monkeypatch, action):
    """It had looked, and is halted before it writes; another one takes the resource over and does it."""
    member = {'member.yaml': json.dumps(hot({'a': resource('1')}))}
    template, other = hot({'n': {'type': 'member.yaml'}}), str(uuid.uuid4())
    if action != 'create':
        life.create(template, files=member)
    taken = []

    def halted(original):
        def late(*arguments, **named):
            stack = original(*arguments, **named)
            if not taken and stack.owner_id and stack.name.startswith(life.name):
                [row] = resources.list_by_stack(stack.owner_id)
                if row.engine_id == life.hub.engine_id:
                    nodes.apply(row.stack_id, None, [Write(row.id, row.engine_id, row.atomic_key,
                                                           {'engine_id': other})])
                    taken.append(row.id)
            return stack
        return late

    from openkeel_heat.engine.operations import migrate, prepare

    if action == 'create':
        monkeypatch.setattr(EngineNestedStacks, 'build', halted(EngineNestedStacks.build))
    elif action == 'update':
        monkeypatch.setattr(prepare, 'stack_under', halted(prepare.stack_under))
    else:
        monkeypatch.setattr(migrate, 'stack_to_change', halted(migrate.stack_to_change))
    started = len(stack_starts(life))
    if action == 'create':
        life.create(template, files=member, wait=False)
    elif action == 'update':
        member = {'member.yaml': json.dumps(hot({'a': resource('2')}))}
        life.client.update_stack(life.engine.context(), life.identity, template, {}, member, {})
    else:
        getattr(life.client, {'suspend': 'stack_suspend', 'delete': 'delete_stack'}[action])(
            life.engine.context(), life.identity, **({'cast': False} if action == 'delete' else {}))
    until(lambda: taken, 'it is halted')
    until(lambda: not any(v.stack_id == life.id for v in life.hub.under_way()), 'it has found out')
    assert len(stack_starts(life)) == started
    nodes.apply(life.id, None, [Write(taken[0], other, life.resources()['n'].atomic_key, {'engine_id': DEAD})])
    graveyard.scan()
    life.settle(f'{action.upper()}_COMPLETE')
    assert len(stack_starts(life)) == started + 1


def stack_starts(life: Life) -> list[Any]:
    """Events that say that something was begun with a nested stack of this stack."""
    return life.database.rows(
        "SELECT e.id FROM event e JOIN stack s ON s.id = e.stack_id JOIN stack p ON p.id = s.owner_id "
        "WHERE p.name = :name AND e.resource_name = s.name AND e.resource_status = 'IN_PROGRESS'", name=life.name)


def test_a_live_engine_keeps_its_lock(life, graveyard):
    life.create(hot({'a': resource('1')}))
    row = life.resources()['a']
    alive = str(uuid.uuid4())
    nodes.apply(life.id, None, [Write(row.id, None, row.atomic_key, {'engine_id': alive})])
    graveyard.scan()
    assert life.hub.scheduler.drain(10)
    assert life.resources()['a'].engine_id == alive
    recovery.steal(row.id, life.resources()['a'].atomic_key, alive, None)


def test_an_update_meets_a_dead_engine(life, graveyard):
    life.create(hot({'a': resource('1')}))
    row = life.resources()['a']
    nodes.apply(life.id, None, [Write(row.id, None, row.atomic_key, {
        'engine_id': DEAD, 'action': 'UPDATE', 'status': 'IN_PROGRESS'})])
    life.update(hot({'a': resource('2')}))
    assert life.resources()['a'].stored_properties == {'value': '2'}


def test_a_cut_start_is_begun_again(life, graveyard, monkeypatch):
    from openkeel_heat.engine.convergence import recovery as recovery_module

    monkeypatch.setattr(recovery_module, 'CUT_SECONDS', 0.01)
    life.create(hot({'a': resource('1')}))
    # a Python Heat engine wrote the new traversal, and nothing more
    stacks.update(life.id, {'status': 'IN_PROGRESS', 'action': 'UPDATE', 'current_traversal': str(uuid.uuid4())})
    graveyard.scan()
    until(lambda: graveyard.scan() or life.row.status == 'COMPLETE', 'complete')
    assert life.database.unrest() == []


def test_a_stack_whose_time_is_over_and_nobody_knows(life, graveyard):
    life.create(hot({'a': resource('1')}))
    long_ago = clock.utcnow() - datetime.timedelta(days=2)
    stacks.update(life.id, {'status': 'IN_PROGRESS', 'action': 'UPDATE', 'current_traversal': str(uuid.uuid4()),
                            'updated_at': long_ago})
    graveyard.scan()
    assert life.settle('UPDATE_FAILED').status_reason == 'Timed out'


def test_scan_is_cheap_when_nothing_is_under_way(life, graveyard):
    life.create(hot({'a': resource('1')}))
    counter = session.StatementCounter()
    with session.watching(counter):
        graveyard.scan()
    assert counter.commits == 0 and counter.statements <= 8


# a second engine ----------------------------------------------------------------------------------------------------

def test_two_engines_share_a_traversal(life):
    from openkeel_heat.engine.server import Engine

    other = Engine(life.engine.conf)
    other.start()
    sent: collections.Counter[str] = collections.Counter()

    class Count:
        def before_send(self, message: Any) -> None:
            sent[message.method] += 1

        def after_send(self, message: Any) -> None:
            pass
    watcher = Count()
    messaging.watchers.append(watcher)
    try:
        with crowded(life.hub), crowded(other._hub):
            life.create(templates.flat())
            life.update(templates.flat(salt='2', generation='y'))
        assert sent['check_resource'] >= 8
        made = collections.Counter(event for event in life.events() if event[1] == 'CREATE_COMPLETE')
        assert made == {(life.name, 'CREATE_COMPLETE'): 1, ('a', 'CREATE_COMPLETE'): 1, ('b', 'CREATE_COMPLETE'): 1,
                        ('c', 'CREATE_COMPLETE'): 1, ('d', 'CREATE_COMPLETE'): 2}
    finally:
        messaging.watchers.remove(watcher)
        other.stop()
        other.wait()


def test_an_engine_that_stops_leaves_its_work_to_others(life):
    from openkeel_heat.engine.server import Engine

    other = Engine(life.engine.conf)
    other.start()
    hub = other._hub
    try:
        life.engine.engine._servers[0].stop()   # nodes go to the other one
        with crowded(life.hub):
            life.create(hot({'a': slow(create=2), 'b': resource('2', ['a'])}), wait=False)
            row = life.when('a', 'CREATE_IN_PROGRESS')
        assert row.engine_id == hub.engine_id
        life.engine.engine._servers[0].start()
    finally:
        other.stop()
        other.wait()
    looking = Recovery(life.hub)
    until(lambda: looking.scan() or life.row.status == 'COMPLETE', 'complete', 20)
    made = collections.Counter(event for event in life.events() if event[1] == 'CREATE_COMPLETE')
    assert set(made.values()) == {1}


def test_no_thread_stays(engine):
    from openkeel_heat.engine.server import Engine

    other = Engine(engine.conf)
    other.start()
    prefix = f'engine-{other.engine_id[:8]}'
    other.stop()
    other.wait()
    assert [t for t in threading.enumerate() if t.name.startswith(prefix)] == []


@pytest.mark.parametrize('state', ['UPDATE_COMPLETE', 'UPDATE_FAILED'])
def test_an_end_that_was_not_cleared_away(life, graveyard, state):
    """Python Heat writes the state, then removes rows, then sync points."""
    life.create(hot({'a': resource('1')}))
    action, _, status = state.partition('_')
    traversal = str(uuid.uuid4())
    stacks.update(life.id, {'status': status, 'action': action, 'current_traversal': traversal,
                            'disable_rollback': status == 'COMPLETE'})
    sync_points.insert_many(life.id, traversal, [(life.id, True)])
    if status == 'FAILED':
        until(lambda: graveyard.scan() or life.row.action == 'ROLLBACK', 'rolling back')
        life.settle('ROLLBACK_COMPLETE')
        assert life.resources() == {}
    else:
        until(lambda: graveyard.scan() or not sync_points.list_inputs(life.id, traversal), 'cleared')
        assert life.row.status == 'COMPLETE' and set(life.resources()) == {'a'}


class Refusal:
    """The local Keystone, while it is told to refuse to delete projects."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.refuses, self.projects = True, []
        monkeypatch.setattr(LocalKeystone, 'delete_stack_domain_project', lambda _self, project_id: self(project_id))

    def __call__(self, project_id: str) -> None:
        self.projects.append(project_id)
        if self.refuses:
            raise RuntimeError('not now')


def credentials_of(life: Life) -> Any:
    return life.database.value('SELECT user_creds_id FROM stack WHERE id = :i', i=life.id)


def test_credentials_go_after_the_stack(life):
    life.create(hot({'a': resource('1')}))
    assert (key := credentials_of(life)) is not None
    life.delete()
    until(lambda: credentials_of(life) is None, 'the deleted stack names no credentials')
    assert life.database.rows('SELECT id FROM user_creds WHERE id = :i', i=key) == []


def test_a_refusal_of_keystone_does_not_keep_a_stack(life, graveyard, monkeypatch):
    """What could not be cleared away is tried again, by whichever engine looks."""
    life.create(hot({'a': resource('1')}))
    refusal = Refusal(monkeypatch)
    life.delete()
    until(lambda: len(refusal.projects) == 1, 'tried')
    graveyard.scan()
    graveyard.scan()
    assert len(refusal.projects) == 2 and credentials_of(life) is not None
    refusal.refuses = False
    graveyard.scan()
    assert len(set(refusal.projects)) == 1 and credentials_of(life) is None
    graveyard.scan()
    assert len(refusal.projects) == 3


# templates ----------------------------------------------------------------------------------------------------------

def templates_of_nobody(life: Life) -> list[Any]:
    return life.database.rows(
        'SELECT t.id FROM raw_template t WHERE NOT EXISTS (SELECT 1 FROM stack s WHERE s.raw_template_id = t.id '
        'OR s.prev_raw_template_id = t.id) AND NOT EXISTS (SELECT 1 FROM resource r WHERE '
        'r.current_template_id = t.id)')


def test_templates_of_interrupted_updates_go(life):
    """Updates over updates leave resources under older templates; those go when the resources come on."""
    life.create(hot({'a': resource('1'), 'b': resource('1', ['a'])}))
    for value in '234':
        life.update(hot({'a': resource(value, action_wait_secs={'update': 1}), 'b': resource(value, ['a'])}),
                    wait=False)
        life.when('a', 'UPDATE_IN_PROGRESS')
    life.update(hot({'a': resource('5'), 'b': resource('5', ['a'])}))
    until(lambda: templates_of_nobody(life) == [], 'no template is left over')


# snapshots ----------------------------------------------------------------------------------------------------------

@pytest.fixture
def slow_snapshot(monkeypatch):
    from openkeel_heat.resources.heat.test_resource import TestResource

    monkeypatch.setattr(TestResource, 'handle_snapshot', lambda self: None, raising=False)
    monkeypatch.setattr(TestResource, 'check_snapshot_complete', lambda self, data: False, raising=False)


@pytest.mark.parametrize('what', ['update', 'cancel', 'delete'])
def test_a_snapshot_that_is_cut_off_fails(life, slow_snapshot, monkeypatch, what):
    from openkeel_heat.resources.heat.test_resource import TestResource

    life.create(hot({'a': resource('1')}))
    context = life.engine.context()
    made = life.client.stack_snapshot(context, life.identity, 'shot')
    life.when('a', 'SNAPSHOT_IN_PROGRESS')
    if what == 'delete':
        life.delete()
        assert life.database.rows('SELECT id FROM snapshot WHERE stack_id = :i', i=life.id) == []
        return
    if what == 'cancel':
        life.hub.stop_traversal(context, Stack.from_row(context, life.row))
    else:
        life.update(hot({'a': resource('2')}), wait=False)
    assert life.client.show_snapshot(context, life.identity, made['id'])['status'] == 'FAILED'
    monkeypatch.setattr(TestResource, 'check_snapshot_complete', lambda self, data: True, raising=False)
    life.client.delete_snapshot(context, life.identity, made['id'])
    until(lambda: not life.client.stack_list_snapshots(context, life.identity), 'the snapshot is gone')


def test_a_snapshot_of_a_cut_start_fails(life, graveyard):
    """Python Heat writes the snapshot's row before its traversal."""
    from openkeel_heat.db import snapshots

    life.create(hot({'a': resource('1')}))
    made = snapshots.insert({'stack_id': life.id, 'name': 'x', 'tenant': 'demo', 'action': 'CREATE',
                             'status': 'IN_PROGRESS'})
    graveyard.scan()
    assert snapshots.get(made).status == 'IN_PROGRESS'
    until(lambda: graveyard.scan() or snapshots.get(made).status == 'FAILED', 'failed', 5)


# attributes ---------------------------------------------------------------------------------------------------------

def test_attributes_stored_by_a_reader_go_with_the_next_change(life, monkeypatch):
    """A reader stores values just when a node that has loaded the row begins to change it."""
    from openkeel_heat.engine.convergence.driver import Driver

    monkeypatch.setattr('openkeel_heat.resources.heat.test_resource.TestResource.attributes_schema', {
        'output': attributes.Schema('kept'), 'other': attributes.Schema('kept')})
    life.create(hot({'a': resource('1')}))
    row = life.resources()['a']
    write_for = Driver.write_for
    read: list[int | None] = []

    def meanwhile(self: Driver, step: Any) -> Write:
        if step.action == 'UPDATE' and not read:
            read.append(resources.store_attributes(row.id, row.atomic_key, {'output': '1'}, None))
        return write_for(self, step)
    monkeypatch.setattr(Driver, 'write_for', meanwhile)
    life.update(hot({'a': resource('2')}))
    assert read and read[0] is not None
    assert life.resources()['a'].attr_data_id is None
    assert life.database.rows(
        'SELECT p.id FROM resource_properties_data p WHERE NOT EXISTS (SELECT 1 FROM resource r WHERE '
        'r.rsrc_prop_data_id = p.id OR r.attr_data_id = p.id) AND NOT EXISTS (SELECT 1 FROM event e WHERE '
        'e.rsrc_prop_data_id = p.id)') == []


# nested stacks that cannot be updated any more ------------------------------------------------------------------------

MEMBER = {'member.yaml': 'heat_template_version: 2018-08-31\nresources:\n  inner: {type: OS::Heat::TestResource}\n'}


def test_a_nested_stack_whose_deletion_failed_is_replaced(life, monkeypatch):
    from openkeel_heat.resources.heat.test_resource import TestResource

    def refuse(self: Any) -> Any:
        raise ValueError('not now')
    nested = hot({'m': {'type': 'member.yaml'}})
    life.create(nested, files=MEMBER)
    first = life.resources()['m'].nova_instance
    with monkeypatch.context() as patch:
        patch.setattr(TestResource, 'handle_delete', refuse)
        life.update(hot({}), wait=False)
        life.settle('UPDATE_FAILED')
    assert (life.resources()['m'].action, life.resources()['m'].status) == ('DELETE', 'FAILED')
    life.client.update_stack(life.engine.context(), life.identity, nested, {}, MEMBER, {})
    life.settle('UPDATE_COMPLETE')
    assert life.resources()['m'].nova_instance != first
    assert stacks.get(first) is None


# break points -------------------------------------------------------------------------------------------------------

def hooked(name: str, *hooks: str) -> dict[str, Any]:
    return {'resource_registry': {'resources': {name: {'hooks': list(hooks)}}}}


class Hooks:
    """What a user does with break points of a stack."""

    def __init__(self, life: Life) -> None:
        self.life = life

    def reasons(self) -> list[str]:
        found = self.life.client.list_events(self.life.engine.context(), self.life.identity)
        return [e['resource_status_reason'] for e in reversed(found)]

    def paused(self, hook: str, times: int = 1) -> None:
        text = f'paused until Hook {hook} is cleared'
        until(lambda: sum(text in one for one in self.reasons()) >= times, f'{hook} is reached', 15)

    def clear(self, name: str, hook: str) -> None:
        self.life.client.resource_signal(self.life.engine.context(), self.life.identity, name, {'unset_hook': hook})
        until(lambda: f'Hook {hook} is cleared' in self.reasons(), 'it is cleared')


@pytest.fixture
def hooks(life) -> Hooks:
    return Hooks(life)


def test_break_points(life, hooks):
    environment = hooked('a', 'pre-create', 'post-create', 'pre-update', 'post-update', 'pre-delete', 'post-delete')
    life.create(hot({'a': resource('1'), 'b': resource('1', ['a'])}), wait=False, params=environment)
    hooks.paused('pre-create')
    assert life.resources()['a'].action == 'INIT'
    hooks.clear('a', 'pre-create')
    hooks.paused('post-create')
    assert life.resources()['a'].action == 'CREATE' and life.resources()['b'].action == 'INIT'
    hooks.clear('a', 'post-create')
    life.settle('CREATE_COMPLETE')
    life.client.update_stack(life.engine.context(), life.identity, hot({'a': resource('2'), 'b': resource('1', ['a'])}),
                             environment, {}, {})
    hooks.paused('pre-update')
    hooks.clear('a', 'pre-update')
    hooks.paused('post-update')
    hooks.clear('a', 'post-update')
    life.settle('UPDATE_COMPLETE')
    life.client.delete_stack(life.engine.context(), life.identity, cast=False)
    hooks.paused('pre-delete')
    assert 'b' not in life.resources() or life.resources()['b'].action == 'DELETE'
    hooks.clear('a', 'pre-delete')
    hooks.paused('post-delete')
    hooks.clear('a', 'post-delete')
    life.settle('DELETE_COMPLETE')


class Held(session.Watcher):
    """Looks after each commit whether break points are held as the events say: from 'paused until' to 'cleared'."""

    def __init__(self, database: Database, stack_name: str) -> None:
        self.database, self.stack_name = database, stack_name
        self.seen: set[tuple[str, ...]] = set()
        self.wrong: list[str] = []

    def after_commit(self, operation: str) -> None:
        rows = self.database.rows(
            "SELECT d.key AS held, NULL AS reason FROM resource_data d JOIN resource r ON r.id = d.resource_id "
            "JOIN stack s ON s.id = r.stack_id WHERE s.name = :name AND d.key LIKE '%-create' UNION ALL "
            "SELECT NULL, e.resource_status_reason FROM event e JOIN stack s ON s.id = e.stack_id WHERE s.name = :name",
            name=self.stack_name)
        reasons = [row['reason'] for row in rows if row['reason']]
        held = tuple(row['held'] for row in rows if row['held'])
        told = tuple(hook for hook in ('pre-create', 'post-create') if sum(
            f'paused until Hook {hook}' in reason for reason in reasons) > reasons.count(f'Hook {hook} is cleared'))
        self.seen.add(held)
        if held != told:
            self.wrong.append(f'after {operation}: held {held}, told {told}')


def test_a_break_point_and_its_event_are_one_write(life, hooks):
    """Whoever sees it, by the one or the other, may clear it at once: 'cleared' never comes before 'paused'."""
    held = Held(life.database, life.name)
    with session.watching(held):
        life.create(hot({'a': resource('1')}), wait=False, params=hooked('a', 'pre-create', 'post-create'))
        for hook in ('pre-create', 'post-create'):
            hooks.paused(hook)
            hooks.clear('a', hook)
        life.settle('CREATE_COMPLETE')
    assert held.wrong == []
    assert held.seen == {(), ('pre-create',), ('post-create',)}


def lose(life: Life) -> None:
    """The nodes of a stack end as if their engine had died."""
    for visit in life.hub.under_way():
        if visit.stack_id == life.id:
            life.hub.scheduler.cancel(visit.key, GeneratorExit())
    until(lambda: not any(v.stack_id == life.id for v in life.hub.under_way()), 'no node is under way')
    life.hub.forget(life.row.current_traversal)


@pytest.mark.parametrize('hook', ['pre-create', 'post-create'])
@pytest.mark.parametrize('cleared', [False, True], ids=['waiting', 'cleared'])
def test_a_break_point_outlives_its_engine(life, hooks, graveyard, hook, cleared):
    """One that a user cleared while no engine was there is not reached again; one that waits is announced once."""
    life.create(hot({'a': resource('1'), 'b': resource('1', ['a'])}), wait=False, params=hooked('a', hook))
    hooks.paused(hook)
    lose(life)
    if cleared:
        hooks.clear('a', hook)
    graveyard.scan()
    graveyard.scan()
    if not cleared:
        until(lambda: any(v.stack_id == life.id for v in life.hub.under_way()), 'it is waited again')
        assert life.resources()['b'].action == 'INIT'
        hooks.clear('a', hook)
    life.settle('CREATE_COMPLETE')
    reasons = hooks.reasons()
    assert sum('paused until' in reason for reason in reasons) == 1
    assert reasons.count('state changed') == 4  # each of the two was made once


@pytest.mark.parametrize('what', ['update', 'cancel'])
def test_nobody_waits_at_a_break_point_of_a_traversal_that_is_over(life, hooks, what):
    template = hot({'a': resource('1'), 'b': resource('1', ['a'])})
    life.create(template, wait=False, params=hooked('a', 'pre-create'))
    hooks.paused('pre-create')
    if what == 'update':
        life.client.update_stack(life.engine.context(), life.identity, template, {}, {}, {})
        life.settle('UPDATE_COMPLETE')
    else:
        life.client.stack_cancel_update(life.engine.context(), life.identity, cancel_with_rollback=False)
        life.settle('CREATE_FAILED')
    until(lambda: not any(v.stack_id == life.id for v in life.hub.under_way()), 'nobody waits')


def test_a_late_call_at_a_resource_that_was_replaced(life):
    """The call comes when the old one has been cleaned up already, to an engine that has not seen the traversal."""
    life.create(hot({'a': resource('1', update_replace_value='x'), 'b': slow(update=2)}))
    old = life.resources()['a'].id
    life.update(hot({'a': resource('1', update_replace_value='y'),
                     'b': resource('t', action_wait_secs={'update': 2})}), wait=False)
    until(lambda: [(row.action, row.status) for row in resources.list_by_stack(life.id) if row.id == old]
          == [('DELETE', 'COMPLETE')], 'the old one is gone')
    traversal = life.row.current_traversal
    busy = [visit.key for visit in life.hub.under_way()]
    life.hub.traversals.drop(traversal)
    life.hub.worker_client.check_resource(life.engine.context(), old, traversal, {'input_data': {}}, True, None)
    until(lambda: [visit.key for visit in life.hub.under_way()] == busy, 'the call was taken')
    life.settle('UPDATE_COMPLETE')
    assert sorted(row.name for row in resources.list_by_stack(life.id)) == ['a', 'b']


# time ---------------------------------------------------------------------------------------------------------------

def expire(life: Life, monkeypatch: pytest.MonkeyPatch) -> None:
    """The time of the stack's traversal passes, also for what has been stored of it."""
    from openkeel_heat.engine.convergence.state import Traversal

    monkeypatch.setattr(Traversal, 'seconds_left', lambda self: 0.0)


def test_what_a_stopped_traversal_left_running_has_a_limit(life, monkeypatch):
    life.create(hot({'a': slow()}), wait=False, timeout_mins=1)
    life.when('a', 'CREATE_IN_PROGRESS')
    (found,) = life.hub.traversals.of_stack(life.id)
    life.client.stack_cancel_update(life.engine.context(), life.identity, cancel_with_rollback=False)
    life.settle('CREATE_FAILED')
    assert not found.timer.cancelled
    expire(life, monkeypatch)
    life.hub.time_is_over(found)
    assert life.when('a', 'CREATE_FAILED').status_reason.endswith('Timed out)')
    until(lambda: found.timer.cancelled and not life.hub._late, 'the clock is not watched any more')
    assert life.row.status_reason == 'Stack CREATE cancelled'


def test_the_work_of_a_dead_engine_for_a_stack_that_timed_out(life, graveyard, monkeypatch):
    """It is not gone on with for as long as it would have taken."""
    life.create(hot({'a': slow(), 'b': resource('1', ['a'])}), wait=False, timeout_mins=1)
    life.when('a', 'CREATE_IN_PROGRESS')
    lose(life)
    row = life.resources()['a']
    assert recovery.steal(row.id, row.atomic_key, row.engine_id, DEAD)
    long_ago = clock.utcnow() - datetime.timedelta(minutes=5)
    stacks.update(life.id, {'created_at': long_ago})
    until(lambda: graveyard.scan() or life.row.status == 'FAILED', 'failed')
    assert life.row.status_reason == 'Timed out'
    until(lambda: life.resources()['a'].status == 'FAILED', 'the resource is given up', 10)
    until(lambda: life.database.unrest() == [], 'rest')


def test_a_time_out_that_could_not_be_written(life, graveyard, monkeypatch):
    """The clock struck, but the database was away: the next look at the stack fails it."""
    life.create(hot({'a': slow()}), wait=False, timeout_mins=1)
    life.when('a', 'CREATE_IN_PROGRESS')
    (found,) = life.hub.traversals.of_stack(life.id)
    found.timer.cancel()
    found.stack.created_time = clock.utcnow() - datetime.timedelta(minutes=5)
    stacks.update(life.id, {'created_at': found.stack.created_time})
    until(lambda: graveyard.scan() or life.row.status == 'FAILED', 'failed', 5)
    assert life.row.status_reason == 'Timed out'


def test_nested_stacks_end_with_the_time_of_their_parent(life, monkeypatch):
    files = {'member.yaml': 'heat_template_version: 2018-08-31\nresources:\n'
             '  inner: {type: OS::Heat::TestResource, properties: {wait_secs: 30}}\n'}
    life.create(hot({'m': {'type': 'member.yaml'}}), wait=False, files=files, timeout_mins=1)
    inner = until(lambda: [row for row in resources.list_by_root(life.id) if row.name == 'inner'
                           and row.status == 'IN_PROGRESS'], 'the inner one is being made')[0]
    (found,) = life.hub.traversals.of_stack(life.id)
    monkeypatch.setattr(found, 'seconds_left', lambda: 0.0)
    life.hub.time_is_over(found)
    assert life.settle_state('CREATE_FAILED').status_reason == 'Timed out'
    until(lambda: stacks.get(inner.stack_id).status == 'FAILED', 'the nested stack has failed')
    (child,) = life.hub._late.values()
    monkeypatch.setattr(child, 'seconds_left', lambda: 0.0)
    life.hub.time_is_over(child)
    until(lambda: life.database.unrest() == [], 'rest')


# preempting ---------------------------------------------------------------------------------------------------------

SLOW_MEMBER = ('heat_template_version: 2018-08-31\nparameters: {v: {type: string}}\nresources:\n'
               '  inner: {type: OS::Heat::TestResource,\n'
               '          properties: {value: {get_param: v}, action_wait_secs: {update: 1}}}\n')


def test_a_doubled_call_does_not_end_what_it_called_for(life, monkeypatch):
    """The first call updates a nested stack here when the second one comes to another engine."""
    from openkeel_heat.engine.server import Engine

    files = {'member.yaml': SLOW_MEMBER}
    life.create(hot({'m': {'type': 'member.yaml', 'properties': {'v': '1'}}}), files=files)
    life.client.update_stack(life.engine.context(), life.identity,
                             hot({'m': {'type': 'member.yaml', 'properties': {'v': '2'}}}), {}, files, {})
    row = life.when('m', 'UPDATE_IN_PROGRESS')
    child = row.nova_instance
    until(lambda: stacks.get(child).action == 'UPDATE', 'the nested stack is being updated')
    other = Engine(life.engine.conf)
    monkeypatch.setattr(other._hub.liveness, '_probe', lambda engine_id: True)
    try:
        WorkerService(other._hub).check_resource(life.engine.context(), row.id, life.row.current_traversal,
                                          {'input_data': {}}, True, None)
        until(lambda: not other._hub.under_way(), 'the call was taken')
        life.settle('UPDATE_COMPLETE')
    finally:
        other.scheduler.stop(5)
    assert stacks.get(child).status == 'COMPLETE'


def test_an_update_ends_the_former_update_of_a_nested_stack(life):
    files = {'member.yaml': SLOW_MEMBER.replace('update: 1', 'update: 20')}
    template = {v: hot({'m': {'type': 'member.yaml', 'properties': {'v': v}}}) for v in '123'}
    life.create(template['1'], files=files)
    life.client.update_stack(life.engine.context(), life.identity, template['2'], {}, files, {})
    child = life.when('m', 'UPDATE_IN_PROGRESS').nova_instance
    until(lambda: (stacks.get(child).action, stacks.get(child).status) == ('UPDATE', 'IN_PROGRESS'), 'it is at it')
    files = {'member.yaml': SLOW_MEMBER.replace('update: 1', 'update: 0')}
    life.client.update_stack(life.engine.context(), life.identity, template['3'], {}, files, {})
    reasons = 'SELECT resource_status_reason AS r FROM event WHERE stack_id = :i'
    until(lambda: {'r': 'Stack UPDATE cancelled'} in life.database.rows(reasons, i=child), 'it is cancelled', 5)


def test_a_resource_taken_over_is_free_when_its_task_ends_before_it_began(life, monkeypatch):
    life.create(hot({'a': slow()}), wait=False)
    life.when('a', 'CREATE_IN_PROGRESS')
    lose(life)
    row = life.resources()['a']
    run = life.hub._begin_loaded

    def cancelled(visits: Any, *rest: Any) -> None:
        submit = life.hub.scheduler.submit
        with monkeypatch.context() as patch:
            patch.setattr(life.hub.scheduler, 'submit', lambda generator, keys, done: submit(
                ended_at_once(generator), keys, done))
            run(visits, *rest)

    def ended_at_once(generator: Any) -> Any:
        generator.throw(Cancelled())
        yield
    monkeypatch.setattr(life.hub, '_begin_loaded', cancelled)
    assert adopt(life.hub, None, row)
    until(lambda: life.resources()['a'].engine_id is None, 'free', 5)
    assert life.resources()['a'].status_reason == 'CREATE aborted (user triggered cancel)'


def test_two_engines_that_replace_one_resource(life, monkeypatch):
    """A doubled call: the other engine made the successor after this one had read the row, and left it as it was."""
    from openkeel_heat.engine.convergence.driver import Driver

    life.create(hot({'a': resource('1', update_replace_value='x')}))
    old = life.resources()['a']
    write_for = Driver.write_for
    made: list[int] = []

    def meanwhile(self: Driver, step: Any) -> Write:
        write = write_for(self, step)
        if step.action == 'UPDATE' and not made:
            template_id = life.row.raw_template_id
            successor = {'stack_id': life.id, 'name': 'a', 'needed_by': [], 'requires': [], 'replaces': old.id,
                         'action': 'INIT', 'status': 'COMPLETE', 'current_template_id': template_id,
                         'root_stack_id': life.id, 'uuid': str(uuid.uuid4())}
            (answer,), _ = nodes.apply(life.id, None, [Write(old.id, None, old.atomic_key, {}, replacement=successor)])
            made.append(answer.replacement_id)
        return write
    monkeypatch.setattr(Driver, 'write_for', meanwhile)
    life.update(hot({'a': resource('1', update_replace_value='y')}))
    assert made and [row.id for row in resources.list_by_stack(life.id)] == made
