// A backup item action: notes on every ConfigMap which backup it was stored by, and stores the Secret of the same name with it.
import type { BackupItemAction } from '@lateen/plugin'
import { type PluginContext, servePlugin } from '@lateen/plugin/serve'

function noteBackup({ log }: PluginContext): BackupItemAction {
  return {
    async appliesTo() {
      return { includedResources: ['configmaps'], labelSelector: 'example.lateen.dev/noted=true' }
    },

    async execute({ item, backup }) {
      const { name = '', namespace = '', annotations } = item.metadata
      log.info({ name, namespace }, 'Noting the backup')
      item.metadata.annotations = { ...annotations, 'example.lateen.dev/backup': backup.metadata.name ?? '' }
      return { item, additionalItems: [{ group: '', resource: 'secrets', namespace, name }] }
    },
  }
}

void servePlugin({ BackupItemAction: { 'example.lateen.dev/note-backup': noteBackup } })
