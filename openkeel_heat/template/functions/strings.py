# SPDX-License-Identifier: Apache-2.0
"""Functions that make strings."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from urllib import parse as urlparse

from openkeel_heat.common.i18n import _
from openkeel_heat.template import limits
from openkeel_heat.template.nodes import FunctionNode, is_function, is_list, is_sequence, resolve, shown_as

#: a pass of str_replace over so many characters costs as much as making one
_SEARCHED_PER_MADE = 64
#: what quoting a character costs
_QUOTED = 4


def to_json(value: Any) -> str:
    """JSON as the language writes it into strings."""
    limits.check_value(value)
    return json.dumps(value, sort_keys=True)


class Replace(FunctionNode):
    """``str_replace: {template: ..., params: {...}}``.

    Longer placeholders win over shorter ones, equal ones in lexical order, and
    what was put in is not looked at again.
    """

    strict = False
    allow_empty = True

    def check(self) -> None:
        self._mapping, self._string = self._parse_args()
        if not (isinstance(self._mapping, Mapping) or is_function(self._mapping)):
            raise TypeError(_('"%s" parameters must be a mapping') % self.fn_name)

    def _parse_args(self) -> tuple[Any, Any]:
        if not isinstance(self.args, Mapping):
            raise TypeError(_('Arguments to "%s" must be a map') % self.fn_name)
        try:
            return self.args["params"], self.args["template"]
        except (KeyError, TypeError):
            example = (
                _("""%s:
              template: This is var1 template var2
              params:
                var1: a
                var2: string""")
                % self.fn_name
            )
            raise KeyError(
                _('"%(fn_name)s" syntax should be %(example)s') % {"fn_name": self.fn_name, "example": example}
            ) from None

    def _text(self, value: Any, param: str) -> str:
        if value is None:
            return ""
        if not isinstance(value, (str, int, float, bool)):
            raise TypeError(
                _('"%(name)s" params must be strings or numbers, param %(param)s is not valid')
                % {"name": self.fn_name, "param": param}
            )
        return str(value)

    def result(self, scope: Any) -> str:
        template = resolve(self._string, scope)
        mapping = resolve(self._mapping, scope)
        missing = set(mapping) if self.strict else set()
        if not isinstance(template, str):
            raise TypeError(_('"%s" template must be a string') % self.fn_name)
        if not isinstance(mapping, Mapping):
            raise TypeError(_('"%s" params must be a map') % self.fn_name)
        keys = sorted(sorted(mapping), key=len, reverse=True)
        # A list of pieces: even ones are text still to be searched, odd ones
        # are values that have been put in.
        pieces = [template]
        limits.charge(self.fn_name, len(template))
        for key in keys:
            if not isinstance(key, str):
                raise TypeError(_('"%s" param placeholders must be strings') % self.fn_name)
            value = self._text(mapping[key], key)
            limits.charge(self.fn_name, len(pieces) + len(template) // _SEARCHED_PER_MADE)
            done: list[str] = []
            for index, piece in enumerate(pieces):
                if index % 2 or not piece:
                    if not piece and not index % 2 and key == "":
                        raise ValueError("empty separator")
                    done.append(piece)
                    continue
                first, *rest = piece.split(key)
                done.append(first)
                if rest:
                    missing.discard(key)
                    limits.charge(self.fn_name, len(value) * len(rest))
                for part in rest:
                    done.append(value)
                    done.append(part)
            pieces = done
        if missing:
            raise ValueError(
                _("The following params were not found in the template: %s")
                % ",".join(sorted(sorted(missing), key=len, reverse=True))
            )
        return "".join(pieces)


class ReplaceJson(Replace):
    """``str_replace`` that writes maps and lists as JSON."""

    def _refuse_empty(self, param: str) -> None:
        if not self.allow_empty:
            raise ValueError(
                _("%(name)s has an undefined or empty value for param %(param)s, must be a defined non-empty value")
                % {"name": self.fn_name, "param": param}
            )

    def _text(self, value: Any, param: str) -> str:
        if value is None:
            self._refuse_empty(param)
            return ""
        if not isinstance(value, (str, int, float, bool)):
            if not isinstance(value, (Mapping, Sequence)):
                raise TypeError(_('"%s" params must be strings, numbers, list or map.') % self.fn_name)
            if len(value) == 0:
                self._refuse_empty(param)
            try:
                text = to_json(value)
                limits.charge_read(self.fn_name, len(text))
                return text
            except TypeError:
                raise TypeError(
                    _('"%(name)s" params must be strings, numbers, list or map. Failed to json serialize %(value)s')
                    % {"name": self.fn_name, "value": value}
                ) from None
        text = str(value)
        if not text:
            self._refuse_empty(param)
        return text


class ReplaceJsonStrict(ReplaceJson):
    """``str_replace_strict``: every param must be in the template."""

    strict = True


class ReplaceJsonVeryStrict(ReplaceJsonStrict):
    """``str_replace_vstrict``: and none of them may be empty."""

    allow_empty = False


@shown_as("Replace")
class CfnReplace(Replace):
    """``Fn::Replace: [mapping, string]``."""

    def _parse_args(self) -> tuple[Any, Any]:
        message = _('Incorrect arguments to "%(fn_name)s" should be: %(example)s') % {
            "fn_name": self.fn_name,
            "example": '{"%s": [ {"$var1": "foo", "%%var2%%": "bar"}, "$var1 is %%var2%%"]}' % self.fn_name,
        }
        if isinstance(self.args, (str, Mapping)):
            raise TypeError(message)
        try:
            mapping, string = self.args
        except ValueError:
            raise ValueError(message) from None
        return mapping, string


class Join(FunctionNode):
    """``list_join: [delimiter, [string, ...]]``."""

    def check(self) -> None:
        message = _('Incorrect arguments to "%(fn_name)s" should be: %(example)s') % {
            "fn_name": self.fn_name,
            "example": '"%s" : [ " ", [ "str1", "str2"]]' % self.fn_name,
        }
        if not is_list(self.args):
            raise TypeError(message)
        try:
            self._delim, self._strings = self.args
        except ValueError:
            raise ValueError(message) from None

    def result(self, scope: Any) -> str:
        strings = resolve(self._strings, scope)
        if strings is None:
            strings = []
        if not is_sequence(strings):
            raise TypeError(_('"%s" must operate on a list') % self.fn_name)
        return _join(self.fn_name, resolve(self._delim, scope), map(self._item, strings))

    @staticmethod
    def _item(item: Any) -> str:
        if item is None:
            return ""
        if not isinstance(item, str):
            raise TypeError(_("Items to join must be strings not %s") % (repr(item)[:200]))
        return item


class JoinMultiple(FunctionNode):
    """``list_join: [delimiter, list, list, ...]``; maps and lists as items become JSON."""

    def check(self) -> None:
        message = _('Incorrect arguments to "%(fn_name)s" should be: %(example)s') % {
            "fn_name": self.fn_name,
            "example": '"%s" : [ " ", [ "str1", "str2"] ...]' % self.fn_name,
        }
        if not is_list(self.args):
            raise TypeError(message)
        if len(self.args) < 2:
            raise ValueError(message)
        self._delim = self.args[0]
        self._lists = self.args[1:]

    def result(self, scope: Any) -> str:
        strings: list[Any] = []
        for items in resolve(self._lists, scope):
            if items:
                if not is_sequence(items):
                    raise TypeError(_('"%s" must operate on a list') % self.fn_name)
                strings += items
        return _join(self.fn_name, resolve(self._delim, scope), map(self._item, strings))

    @staticmethod
    def _item(item: Any) -> str:
        if item is None:
            return ""
        if isinstance(item, str):
            return item
        if isinstance(item, (Mapping, Sequence)):
            try:
                return to_json(item)
            except TypeError:
                raise TypeError(
                    _("Items to join must be string, map or list. %s failed json serialization") % (repr(item)[:200])
                ) from None
        raise TypeError(_("Items to join must be string, map or list not %s") % (repr(item)[:200]))


def _join(fn_name: str, delim: Any, items: Iterable[str]) -> str:
    if not isinstance(delim, str):
        raise TypeError(_('"%s" delimiter must be a string') % fn_name)
    parts = []
    for item in items:
        limits.charge(fn_name, len(item) + len(delim))
        parts.append(item)
    return delim.join(parts)


class StrSplit(FunctionNode):
    """``str_split: [delimiter, string, index]``."""

    def check(self) -> None:
        self._format = {"fn_name": self.fn_name, "example": '"%s" : [ ",", "apples,pears", <index>]' % self.fn_name}
        if isinstance(self.args, (str, Mapping)):
            raise TypeError(self._usage())

    def _usage(self) -> str:
        return _('Incorrect arguments to "%(fn_name)s" should be: %(example)s') % self._format

    def result(self, scope: Any) -> Any:
        args = resolve(self.args, scope)
        if not isinstance(args, list) or len(args) < 2:
            raise ValueError(self._usage())
        delim, text, *rest = args
        if text is None:
            return None
        if not isinstance(text, str):
            raise TypeError("'%s' object has no attribute 'split'" % type(text).__name__)
        parts = text.split(delim)
        limits.charge(self.fn_name, len(text))
        if not rest:
            limits.check_items(self.fn_name, len(parts))
            return parts
        try:
            index = int(rest[0])
        except ValueError:
            raise ValueError(_('Incorrect index to "%(fn_name)s" should be: %(example)s') % self._format) from None
        try:
            return parts[index]
        except IndexError:
            raise ValueError(
                _('Incorrect index to "%(fn_name)s" should be between 0 and %(max_index)s')
                % {"fn_name": self.fn_name, "max_index": len(parts) - 1}
            ) from None


@shown_as("Split")
class CfnSplit(FunctionNode):
    """``Fn::Split: [delimiter, string]``."""

    def check(self) -> None:
        message = _('Incorrect arguments to "%(fn_name)s" should be: %(example)s') % {
            "fn_name": self.fn_name,
            "example": '"%s" : [ ",", "str1,str2"]]' % self.fn_name,
        }
        if isinstance(self.args, (str, Mapping)):
            raise TypeError(message)
        try:
            self._delim, self._string = self.args
        except ValueError:
            raise ValueError(message) from None

    def result(self, scope: Any) -> list[str]:
        text = resolve(self._string, scope)
        if not isinstance(self._delim, str):
            raise TypeError(_("Delimiter for %s must be string") % self.fn_name)
        if not isinstance(text, str):
            raise TypeError(_("String to split must be string; got %s") % type(text))
        parts = text.split(self._delim)
        limits.charge(self.fn_name, len(text))
        limits.check_items(self.fn_name, len(parts))
        return parts


class Base64(FunctionNode):
    """``Fn::Base64``: the string itself; user data is taken in plain text."""

    def result(self, scope: Any) -> str:
        text = resolve(self.args, scope)
        if not isinstance(text, str):
            raise TypeError(_('"%s" argument must be a string') % self.fn_name)
        return text


class Digest(FunctionNode):
    """``digest: [algorithm, value]``."""

    def result(self, scope: Any) -> str:
        args = resolve(self.args, scope)
        if not isinstance(args, list) or not all(isinstance(arg, str) for arg in args):
            raise TypeError(_('Argument to function "%s" must be a list of strings') % self.fn_name)
        if len(args) != 2:
            raise ValueError(_('Function "%s" usage: ["<algorithm>", "<value>"]') % self.fn_name)
        algorithm, value = args
        if algorithm.lower() not in hashlib.algorithms_available:
            raise ValueError(_("Algorithm must be one of %s") % str(hashlib.algorithms_available))
        limits.charge_read(self.fn_name, len(value))
        digest = hashlib.new(algorithm)
        digest.update(value.encode("latin-1"))
        return digest.hexdigest()


class MakeURL(FunctionNode):
    """``make_url: {scheme, username, password, host, port, path, query, fragment}``."""

    keys = ("scheme", "username", "password", "host", "port", "path", "query", "fragment")

    def _check_args(self, args: Any) -> None:
        for key in self.keys:
            if key not in args:
                continue
            value = args[key]
            if key == "query":
                if not (is_function(value) or isinstance(value, Mapping)):
                    raise TypeError(
                        _('The "%(arg)s" argument to "%(fn_name)s" must be a map')
                        % {"arg": key, "fn_name": self.fn_name}
                    )
                return
            if key == "port":
                self._check_port(value, args)
            elif not (is_function(value) or isinstance(value, str)):
                raise TypeError(
                    _('The "%(arg)s" argument to "%(fn_name)s" must be a string')
                    % {"arg": key, "fn_name": self.fn_name}
                )

    def _check_port(self, port: Any, args: Any) -> None:
        if is_function(port):
            return
        if not isinstance(port, int):
            try:
                port = int(port)
            except ValueError:
                raise ValueError(
                    _('Invalid URL port "%(port)s" for %(fn_name)s called with %(args)s')
                    % {"fn_name": self.fn_name, "port": port, "args": args}
                ) from None
        if not 0 < port <= 65535:
            raise ValueError(_("Invalid URL port %d, must be in range 1-65535") % port)

    def validate_args(self, scope: Any) -> None:
        super().validate_args(scope)
        if not isinstance(self.args, Mapping):
            raise TypeError(_('The arguments to "%s" must be a map') % self.fn_name)
        unknown = set(self.args) - set(self.keys)
        if unknown:
            raise ValueError(
                _('Invalid arguments to "%(fn)s": %(args)s') % {"fn": self.fn_name, "args": ", ".join(unknown)}
            )
        self._check_args(self.args)

    def result(self, scope: Any) -> str:
        args = resolve(self.args, scope)
        self._check_args(args)
        scheme = args.get("scheme", "")
        limits.charge(self.fn_name, _QUOTED * sum(len(str(part)) for part in args.values()))
        if ":" in scheme:
            raise ValueError(_("URL \"%s\" should not contain ':'") % "scheme")
        query = urlparse.urlencode(args.get("query", {})).replace("%2F", "/")
        return urlparse.urlunsplit(
            (
                scheme,
                self._netloc(args),
                urlparse.quote(args.get("path", "")),
                query,
                urlparse.quote(args.get("fragment", "")),
            )
        )

    @staticmethod
    def _netloc(args: Mapping[str, Any]) -> str:
        username = urlparse.quote(args.get("username", ""), safe="")
        password = urlparse.quote(args.get("password", ""), safe="")
        login = username + (":" + password if password else "")
        host = args.get("host", "")
        if host.startswith("[") and host.endswith("]"):
            host = host[1:-1]
        host = urlparse.quote(host, safe=":")
        if ":" in host:
            host = "[%s]" % host
        port = args.get("port", "")
        return (login + "@" if login else "") + host + (":%s" % port if port else "")
