import { truncate } from 'node:fs/promises'
import type { HandlersOf } from '../../packages/plugin/src/serve/implement-service.ts'
import { copyContent, makeContent } from './copy-content.ts'
import { CsiError, required } from './csi-error.ts'
import { type Driver, existingVolume } from './driver.ts'
import type { VolumeMode, VolumeRecord, VolumeSource } from './driver-state.ts'
import { pageOf } from './page.ts'
import { flushVolume, usesOf } from './published-volumes.ts'
import { answersRequest, bytesWithin, modeOf, sourceOf } from './volume-request.ts'
import type { Controller, CreateVolumeRequest } from './wire/csi_pb.ts'

type VolumeMethods =
  | 'createVolume'
  | 'deleteVolume'
  | 'listVolumes'
  | 'getCapacity'
  | 'validateVolumeCapabilities'
  | 'controllerExpandVolume'

/** Volumes as the controller makes, grows and deletes them. */
export function volumeHandlers(driver: Driver): Pick<HandlersOf<typeof Controller>, VolumeMethods> {
  const { state, locks } = driver
  const { volumes } = state
  return {
    createVolume: request => {
      const name = required(request.name, 'the name')
      modeOf(request.volumeCapabilities)
      return locks.run(`volume ${name}`, async () => {
        const existing = volumes.named(name)
        if (existing && !answersRequest(existing, request)) {
          throw new CsiError('ALREADY_EXISTS', `a volume ${name} exists and is not what is asked for`)
        }
        return { volume: volumeMessage(existing ?? (await createVolume(driver, request))) }
      })
    },
    deleteVolume: async ({ volumeId }) => {
      const volume = volumes.get(required(volumeId, 'the volume ID'))
      if (volume === undefined) return {}
      return locks.run(`volume ${volume.name}`, async () => {
        const [use] = await usesOf(driver, volume)
        if (use) throw new CsiError('FAILED_PRECONDITION', `the volume ${volumeId} is in use: ${use}`)
        await volumes.remove(volumeId)
        return {}
      })
    },
    listVolumes: async request => {
      const { page, nextToken } = pageOf(volumes.list(), request)
      return { entries: page.map(volume => ({ volume: volumeMessage(volume) })), nextToken }
    },
    getCapacity: async () => ({ availableCapacity: BigInt(freeBytes(driver)) }),
    validateVolumeCapabilities: async ({ volumeId, volumeCapabilities, parameters }) => {
      const id = required(volumeId, 'the volume ID')
      const mode = modeOf(volumeCapabilities)
      if (existingVolume(driver, id).mode !== mode) return { message: `the volume is not for ${mode}` }
      return { confirmed: { volumeCapabilities, parameters } }
    },
    controllerExpandVolume: async ({ volumeId, capacityRange }) => {
      const id = required(volumeId, 'the volume ID')
      const range = required(capacityRange, 'the capacity range')
      const { name } = existingVolume(driver, id)
      return locks.run(`volume ${name}`, async () => {
        const volume = existingVolume(driver, id)
        const capacityBytes = Math.max(bytesWithin(range, 0), volume.capacityBytes)
        reserve(driver, capacityBytes - volume.capacityBytes)
        if (volume.mode === 'block') await truncate(volumes.contentOf(id), capacityBytes)
        await volumes.update({ ...volume, capacityBytes })
        return { capacityBytes: BigInt(capacityBytes), nodeExpansionRequired: volume.mode === 'block' }
      })
    },
  }
}

async function createVolume(driver: Driver, request: CreateVolumeRequest): Promise<VolumeRecord> {
  const { volumes } = driver.state
  const mode = modeOf(request.volumeCapabilities)
  const source = sourceOf(request.volumeContentSource)
  const origin = source && originOf(driver, source)
  if (origin && origin.mode !== mode) {
    throw new CsiError('INVALID_ARGUMENT', `a ${mode} volume cannot be made of a ${origin.mode} one`)
  }
  const capacityBytes = bytesWithin(request.capacityRange, origin?.bytes ?? 0)
  reserve(driver, capacityBytes)
  const fields = { id: driver.newId(), name: request.name, mode, capacityBytes, ...(source && { source }) }
  return volumes.add(fields, async content => {
    if (origin === undefined) return makeContent(content, { mode, bytes: capacityBytes })
    await origin.flush()
    await copyContent(origin.content, content, mode)
    if (mode === 'block') await truncate(content, capacityBytes)
  })
}

interface Origin {
  mode: VolumeMode
  bytes: number
  content: string
  /** Brings to the content what its users have written. */
  flush(): Promise<void>
}

/** What a new volume is a copy of. Throws NOT_FOUND where that is not there. */
function originOf(driver: Driver, source: VolumeSource): Origin {
  const { volumes, snapshots } = driver.state
  if ('volume' in source) {
    const volume = existingVolume(driver, source.volume)
    const { mode, capacityBytes: bytes } = volume
    return { mode, bytes, content: volumes.contentOf(volume.id), flush: () => flushVolume(driver, volume) }
  }
  const snapshot = snapshots.get(source.snapshot)
  if (snapshot === undefined) throw new CsiError('NOT_FOUND', `there is no snapshot ${source.snapshot}`)
  const { id, mode, sizeBytes: bytes } = snapshot
  return { mode, bytes, content: snapshots.contentOf(id), flush: async () => {} }
}

/** Throws OUT_OF_RANGE where less is free than is asked for. */
function reserve(driver: Driver, bytes: number): void {
  const free = freeBytes(driver)
  if (bytes > free) throw new CsiError('OUT_OF_RANGE', `${bytes} bytes are asked for, and ${free} are free`)
}

function freeBytes({ state, capacityBytes }: Driver): number {
  return state.volumes.list().reduce((free, volume) => free - volume.capacityBytes, capacityBytes)
}

function volumeMessage({ id, capacityBytes, source }: VolumeRecord) {
  return {
    volumeId: id,
    capacityBytes: BigInt(capacityBytes),
    ...(source && { contentSource: { type: sourceMessage(source) } }),
  }
}

function sourceMessage(source: VolumeSource) {
  return 'volume' in source
    ? { case: 'volume' as const, value: { volumeId: source.volume } }
    : { case: 'snapshot' as const, value: { snapshotId: source.snapshot } }
}
