// A backup item action that starts an operation for every ConfigMap. Each takes LATEEN_BENCH_SECONDS and gets on a little each second.
import { type BackupItemAction, invalidOperationId } from '@lateen/plugin'
import { servePlugin } from '@lateen/plugin/serve'

const seconds = Number(process.env.LATEEN_BENCH_SECONDS ?? '60')

const waiting: BackupItemAction = {
  appliesTo: async () => ({ includedResources: ['configmaps'], labelSelector: 'bench=backup' }),

  async execute({ item, backup }) {
    if (/^Finalizing/.test(backup.status?.phase ?? '')) return { item, unchanged: true }
    return { item, unchanged: true, operationId: `${item.metadata.name}.${Date.now()}` }
  },

  async progress({ operationId }) {
    const started = Number(operationId.slice(operationId.lastIndexOf('.') + 1))
    if (Number.isNaN(started)) throw invalidOperationId(operationId)
    const updated = Date.now()
    const nCompleted = Math.min(seconds, Math.floor((updated - started) / 1000))
    const counts = { nCompleted, nTotal: seconds, operationUnits: 's', description: '' }
    return { completed: nCompleted === seconds, error: '', ...counts, started, updated }
  },

  async cancel() {},
}

void servePlugin({ BackupItemActionV2: { 'bench.lateen.dev/waiting': () => waiting } })
