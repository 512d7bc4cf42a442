import { CsiError } from './csi-error.ts'
import type { VolumeMode, VolumeRecord, VolumeSource } from './driver-state.ts'
import type {
  CapacityRange,
  CreateVolumeRequest,
  VolumeCapability,
  VolumeContentSource,
} from './wire/csi_pb.ts'

/** The size of a volume for which none is asked. */
export const defaultBytes = 1024 ** 3

/** The one mode that capabilities ask for. Throws INVALID_ARGUMENT for none, and for both at once. */
export function modeOf(capabilities: readonly VolumeCapability[]): VolumeMode {
  const modes = new Set(capabilities.map(({ accessType }) => accessType.case))
  const [mode] = modes
  if (mode === undefined || modes.size !== 1) {
    throw new CsiError('INVALID_ARGUMENT', 'a volume is asked for that is not one of mounted or block')
  }
  return mode
}

/** Where the content of a new volume comes from. */
export function sourceOf(source: VolumeContentSource | undefined): VolumeSource | undefined {
  switch (source?.type.case) {
    case 'snapshot':
      return { snapshot: source.type.value.snapshotId }
    case 'volume':
      return { volume: source.type.value.volumeId }
    default:
      return undefined
  }
}

/** The size to give where at least `leastBytes` are needed. Throws OUT_OF_RANGE where the range does not allow that. */
export function bytesWithin(range: CapacityRange | undefined, leastBytes: number): number {
  const requiredBytes = Number(range?.requiredBytes ?? 0)
  const limitBytes = Number(range?.limitBytes ?? 0) || Number.POSITIVE_INFINITY
  const wanted = requiredBytes || Math.max(leastBytes, Math.min(defaultBytes, limitBytes))
  if (wanted < leastBytes || wanted > limitBytes) {
    const limit = Number.isFinite(limitBytes) ? `, at most ${limitBytes},` : ''
    throw new CsiError(
      'OUT_OF_RANGE',
      `${requiredBytes} bytes${limit} are asked for, and ${leastBytes} are needed`,
    )
  }
  return wanted
}

/** Whether a volume is what is asked for under its name. */
export function answersRequest(volume: VolumeRecord, request: CreateVolumeRequest): boolean {
  const { requiredBytes = 0n, limitBytes = 0n } = request.capacityRange ?? {}
  const bytes = BigInt(volume.capacityBytes)
  const source = sourceOf(request.volumeContentSource)
  return (
    volume.mode === modeOf(request.volumeCapabilities) &&
    bytes >= requiredBytes &&
    (limitBytes === 0n || bytes <= limitBytes) &&
    JSON.stringify(source) === JSON.stringify(volume.source)
  )
}
