#!/bin/bash
${add_custom_user}
# heat-cfntools from a package has no links in /opt/aws/bin.
command -v cfn-create-aws-symlinks >/dev/null && cfn-create-aws-symlinks

# A failed boot hook would end the boot.
exit 0
