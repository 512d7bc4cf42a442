// A restore item action with operations: a ConfigMap is restored after the Secret of the same name, and something goes on afterwards
// that the restore waits for. As in the example of backups, the id of the operation is all there is to know of it.
import { invalidOperationId, type RestoreItemAction } from '@lateen/plugin'
import { servePlugin } from '@lateen/plugin/serve'

const restoreContent: RestoreItemAction = {
  async appliesTo() {
    return { includedResources: ['configmaps'], labelSelector: 'example.lateen.dev/copied=true' }
  },

  async execute({ item }) {
    const { name = '', namespace = '', annotations } = item.metadata
    const seconds = Number(annotations?.['example.lateen.dev/seconds'] ?? '1')
    return {
      item,
      additionalItems: [{ group: '', resource: 'secrets', namespace, name }],
      waitForAdditionalItems: true,
      operationId: `${Date.now()}-${seconds}`,
    }
  },

  // Asked with those that are in the cluster by now.
  async areAdditionalItemsReady({ additionalItems }) {
    return additionalItems.length > 0
  },

  async progress({ operationId }) {
    const [started = Number.NaN, seconds = Number.NaN] = operationId.split('-').map(Number)
    if (Number.isNaN(started + seconds)) throw invalidOperationId(operationId)
    const updated = Date.now()
    const nCompleted = Math.min(seconds, Math.floor((updated - started) / 1000))
    const completed = nCompleted === seconds
    return {
      completed,
      error: '',
      nCompleted,
      nTotal: seconds,
      operationUnits: 'pages',
      description: '',
      started,
      updated,
    }
  },
}

void servePlugin({ RestoreItemActionV2: { 'example.lateen.dev/restore-content': () => restoreContent } })
