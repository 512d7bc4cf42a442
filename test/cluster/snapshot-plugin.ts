// A volume snapshotter for tests: a snapshot is a copy of a hostPath volume's folder. It writes down what it is asked, fails where the name of
// the folder says so (`fails-createsnapshot`), hangs for folders named `hangs…`, and uploads the snapshots of folders named `slow…` as slowly as a test lets it.
// While there is a file `cancel-hangs`, it does not answer who cancels.
import { appendFile, cp, mkdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  type ActionItem,
  invalidOperationId,
  type OperationProgress,
  type VolumeSnapshotter,
} from '@lateen/plugin'
import { servePlugin } from '@lateen/plugin/serve'

type VolumeSpec = { hostPath?: { path?: string } }

function recordingSnapshotter(): VolumeSnapshotter {
  let root = ''
  let settings: Readonly<Record<string, string | undefined>> = {}
  const specOf = ({ spec }: ActionItem) => (spec ?? {}) as VolumeSpec
  const at = (...names: string[]) => path.join(root, ...names)

  async function note(call: string, volumeId: string, details: object): Promise<void> {
    await appendFile(at('calls'), `${JSON.stringify({ call, volumeId, ...details })}\n`)
    if (path.basename(volumeId) === `fails-${call.toLowerCase()}`) throw new Error(`${call} fails on purpose`)
  }

  const volumeOf = async (snapshotId: string) => {
    const text = await readFile(at('snapshots', snapshotId, 'volume'), 'utf8').catch(() => undefined)
    if (text === undefined) throw invalidOperationId(snapshotId)
    return text
  }

  return {
    async init({ config }) {
      if (!config.path) throw new Error('the snapshot location has no setting "path"')
      settings = config
      root = config.path
      const credentials = config.credentialsFile && (await readFile(config.credentialsFile, 'utf8'))
      await note('init', '', { owns: config.owns, credentials })
    },
    async getVolumeId({ persistentVolume }) {
      const volumeId = specOf(persistentVolume).hostPath?.path ?? ''
      await note('getVolumeId', volumeId, { owns: settings.owns })
      const owner = persistentVolume.metadata.annotations?.['example.com/storage']
      return owner === settings.owns ? volumeId : undefined
    },
    async getVolumeInfo({ volumeId, volumeZone }) {
      await note('getVolumeInfo', volumeId, { volumeZone })
      return { volumeType: 'recorded', ...(settings.iops !== undefined && { iops: Number(settings.iops) }) }
    },
    async createSnapshot({ volumeId, volumeZone, tags }) {
      await note('createSnapshot', volumeId, { volumeZone, tags })
      if (path.basename(volumeId).startsWith('hangs')) await new Promise(() => {})
      if (path.basename(volumeId).startsWith('later')) await sleep(TAKING_MS)
      const snapshotId = `${tags['velero.io/backup']}-${path.basename(volumeId)}`
      await mkdir(at('snapshots', snapshotId), { recursive: true })
      await cp(volumeId, at('snapshots', snapshotId, 'data'), { recursive: true })
      await writeFile(at('snapshots', snapshotId, 'volume'), volumeId)
      return snapshotId
    },
    async createVolumeFromSnapshot({ snapshotId, volumeType, volumeZone, iops }) {
      const source = await volumeOf(snapshotId)
      await note('createVolume', source, { snapshotId, volumeType, volumeZone, iops })
      const volumeId = at('restored', path.basename(source))
      await cp(at('snapshots', snapshotId, 'data'), volumeId, { recursive: true })
      return volumeId
    },
    async setVolumeId({ persistentVolume, volumeId }) {
      await note('setVolumeId', volumeId, {})
      const spec = specOf(persistentVolume)
      return { ...persistentVolume, spec: { ...spec, hostPath: { ...spec.hostPath, path: volumeId } } }
    },
    async deleteSnapshot({ snapshotId }) {
      await note('deleteSnapshot', '', { snapshotId })
      await rm(at('snapshots', snapshotId), { recursive: true, force: true })
    },
    async progress({ snapshotId }) {
      const name = path.basename(await volumeOf(snapshotId))
      const done = { ...nothing, completed: true, operationUnits: 'bytes' }
      if (name.startsWith('later')) {
        const { mtimeMs } = await stat(at('snapshots', snapshotId, 'volume'))
        return { ...done, completed: Date.now() - mtimeMs > LATER_MS }
      }
      if (!name.startsWith('slow')) return done
      const text = await readFile(at('progress', name), 'utf8').catch(() => '{}')
      return { ...done, completed: false, description: 'uploading', ...JSON.parse(text) }
    },
    async cancel({ snapshotId }) {
      await note('cancel', await volumeOf(snapshotId), { snapshotId })
      const hangs = await stat(at('cancel-hangs')).catch(() => undefined)
      if (hangs !== undefined) await new Promise(() => {})
    },
  }
}

/** How long it takes to take a snapshot of a folder named `later…`. */
const TAKING_MS = 150

/** How long the snapshots of folders named `later…` are under way. */
const LATER_MS = 1_500

const nothing: OperationProgress = {
  completed: false,
  error: '',
  nCompleted: 0,
  nTotal: 0,
  operationUnits: '',
  description: '',
}

void servePlugin({
  VolumeSnapshotter: {
    'example.com/recording': recordingSnapshotter,
    'example.com/second': recordingSnapshotter,
  },
})
