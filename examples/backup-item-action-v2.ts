// A backup item action with operations: pretends to copy the content of a ConfigMap elsewhere, which takes as many seconds as the
// ConfigMap says, and lets the ConfigMap be stored once more when that is done.
//
// An operation outlives the process that started it, so all that is known of it is in its id. A real action would keep an object
// in the cluster, or ask the system that does the work.
import { type BackupItemAction, invalidOperationId } from '@lateen/plugin'
import { servePlugin } from '@lateen/plugin/serve'

const copyContent: BackupItemAction = {
  async appliesTo() {
    return { includedResources: ['configmaps'], labelSelector: 'example.lateen.dev/copied=true' }
  },

  async execute({ item, backup }) {
    const { name = '', namespace = '', annotations } = item.metadata
    // In the last pass the operation is over; a new one would be an error.
    if (/^Finalizing/.test(backup.status?.phase ?? '')) {
      item.metadata.annotations = { ...annotations, 'example.lateen.dev/copied': 'complete' }
      return { item }
    }
    const seconds = Number(annotations?.['example.lateen.dev/seconds'] ?? '1')
    const postOperationItems = [{ group: '', resource: 'configmaps', namespace, name }]
    return { item, unchanged: true, operationId: `${Date.now()}-${seconds}`, postOperationItems }
  },

  async progress({ operationId }) {
    const [started = Number.NaN, seconds = Number.NaN] = operationId.split('-').map(Number)
    if (Number.isNaN(started + seconds)) throw invalidOperationId(operationId)
    const now = Date.now()
    const nCompleted = Math.min(seconds, Math.floor((now - started) / 1000))
    const completed = nCompleted === seconds
    const description = completed ? 'copied' : 'copying'
    return {
      completed,
      error: '',
      nCompleted,
      nTotal: seconds,
      operationUnits: 'pages',
      description,
      started,
      updated: now,
    }
  },

  // There is nothing to stop here; being asked to is no error.
  async cancel() {},
}

void servePlugin({ BackupItemActionV2: { 'example.lateen.dev/copy-content': () => copyContent } })
