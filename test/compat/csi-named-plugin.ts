// A plugin program whose actions are named like those for CSI, and one that is not.
import { servePlugin } from '@lateen/plugin/serve'

void servePlugin({
  BackupItemAction: {
    'velero.io/csi-pvc-backupper': () => ({
      appliesTo: async () => ({}),
      execute: async ({ item }) => ({ item, unchanged: true }),
    }),
    'example.com/other': () => ({
      appliesTo: async () => ({}),
      execute: async ({ item }) => ({ item, unchanged: true }),
    }),
  },
  RestoreItemAction: {
    'velero.io/csi-pvc-restorer': () => ({
      appliesTo: async () => ({}),
      execute: async ({ item }) => ({ item }),
    }),
  },
})
