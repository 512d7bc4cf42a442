// A plugin program for restores of a test. What an operation does is told by the test, through files in the folder OPERATIONS; what was
// asked of it is noted there, too, so that it is known whichever process was asked. Annotations of the restore say what actions do.
import { access, appendFile, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { invalidOperationId, type OperationProgress, type RestoreItemAction } from '@lateen/plugin'
import { servePlugin } from '@lateen/plugin/serve'

const folder = process.env.OPERATIONS ?? ''
const at = (...names: string[]) => path.join(folder, ...names)
const exists = (file: string) =>
  access(file).then(
    () => true,
    () => false,
  )

const nothing: OperationProgress = {
  completed: false,
  error: '',
  nCompleted: 0,
  nTotal: 0,
  operationUnits: '',
  description: '',
}

const action: RestoreItemAction = {
  async appliesTo() {
    return { includedResources: ['configmaps'], labelSelector: 'test.lateen.dev/operation' }
  },

  async execute({ item, restore, signal }) {
    const { annotations = {}, name: restoreName } = restore.metadata
    const { name = '', namespace = '' } = item.metadata
    const held = at(`${restoreName}.${name}.go`)
    if (annotations['test.lateen.dev/hold'] === name) {
      await writeFile(at(`${restoreName}.${name}.held`), '')
      while (!(await exists(held))) await sleep(50, undefined, { signal })
    }
    const ready = annotations['test.lateen.dev/ready']
    if (ready !== undefined) {
      return {
        item,
        additionalItems: [{ group: '', resource: 'configmaps', namespace, name: 'plain' }],
        waitForAdditionalItems: true,
        additionalItemsReadyTimeout: Number(annotations['test.lateen.dev/ready-timeout'] ?? '0'),
      }
    }
    if (annotations['test.lateen.dev/begin'] !== 'true') return { item }
    const operationId = `${restoreName}.${name}`
    await mkdir(at(operationId))
    return { item, operationId }
  },

  async areAdditionalItemsReady({ additionalItems, restore }) {
    const { annotations = {}, name } = restore.metadata
    const file = at(`${name}.asked`)
    const asked = (await readFile(file, 'utf8').catch(() => '')).length
    await appendFile(file, '.')
    await writeFile(at(`${name}.items`), JSON.stringify(additionalItems))
    return asked >= Number(annotations['test.lateen.dev/ready'])
  },

  async progress({ operationId }) {
    await appendFile(at(operationId, 'asked'), '.').catch(() => {
      throw invalidOperationId(operationId)
    })
    if (await exists(at(operationId, 'crash'))) {
      await rm(at(operationId, 'crash'))
      process.exit(1)
    }
    const told = await readFile(at(operationId, 'progress.json'), 'utf8').catch(() => '{}')
    return { ...nothing, ...JSON.parse(told) }
  },

  async cancel({ operationId }) {
    await appendFile(at(operationId, 'cancelled'), '.')
  },
}

void servePlugin({ RestoreItemActionV2: { 'test.lateen.dev/operations': () => action } })
