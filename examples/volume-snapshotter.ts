// A volume snapshotter for hostPath volumes on one machine: a snapshot is a copy of the folder below the location's setting `path`.
import { randomUUID } from 'node:crypto'
import { cp, rm } from 'node:fs/promises'
import path from 'node:path'
import type { ActionItem, VolumeSnapshotter } from '@lateen/plugin'
import { servePlugin } from '@lateen/plugin/serve'

type VolumeSpec = { hostPath?: { path?: string } }

function folderSnapshotter(): VolumeSnapshotter {
  let root = ''
  const specOf = ({ spec }: ActionItem) => (spec ?? {}) as VolumeSpec

  return {
    async init({ config }) {
      if (!config.path) throw new Error('the snapshot location has no setting "path"')
      root = config.path
    },
    getVolumeId: async ({ persistentVolume }) => specOf(persistentVolume).hostPath?.path,
    getVolumeInfo: async () => ({ volumeType: 'folder' }),
    async createSnapshot({ volumeId }) {
      const snapshotId = randomUUID()
      await cp(volumeId, path.join(root, 'snapshots', snapshotId), { recursive: true })
      return snapshotId
    },
    async createVolumeFromSnapshot({ snapshotId }) {
      const volumeId = path.join(root, 'volumes', randomUUID())
      await cp(path.join(root, 'snapshots', snapshotId), volumeId, { recursive: true })
      return volumeId
    },
    async setVolumeId({ persistentVolume, volumeId }) {
      const spec = specOf(persistentVolume)
      return { ...persistentVolume, spec: { ...spec, hostPath: { ...spec.hostPath, path: volumeId } } }
    },
    deleteSnapshot: ({ snapshotId }) =>
      rm(path.join(root, 'snapshots', snapshotId), { recursive: true, force: true }),
  }
}

void servePlugin({ VolumeSnapshotter: { 'example.lateen.dev/folder': folderSnapshotter } })
