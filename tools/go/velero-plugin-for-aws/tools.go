//go:build tools

// Package tools pins a Velero plugin from elsewhere.
package tools

import _ "github.com/vmware-tanzu/velero-plugin-for-aws/velero-plugin-for-aws"
