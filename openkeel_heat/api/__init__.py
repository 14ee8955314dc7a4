# SPDX-License-Identifier: Apache-2.0
"""HTTP in: the native API (:mod:`.native`), the CloudFormation API (:mod:`.cfn`) and the filters before them.

`paste` makes an application from an api-paste file, `server` serves it, `wsgi` offers it to other servers.  The
package knows HTTP and the RPC client, and parses template and environment texts; it never sees the database.
"""
