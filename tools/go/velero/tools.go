//go:build tools

// Package tools pins the Velero that backups are compared with.
package tools

import _ "github.com/vmware-tanzu/velero/cmd/velero"
