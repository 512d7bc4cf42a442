import type { InstallOptions } from './install-options.ts'
import { installMetadata } from './labels.ts'

/** The location `default`. */
export function backupStorageLocationObject(options: InstallOptions): object | undefined {
  const location = options.backupLocation
  if (location === undefined) return undefined
  return {
    apiVersion: 'velero.io/v1',
    kind: 'BackupStorageLocation',
    metadata: installMetadata('default', options.namespace),
    spec: {
      ...configOf(location.config),
      default: true,
      objectStorage: {
        bucket: location.bucket,
        ...(location.prefix === undefined ? {} : { prefix: location.prefix }),
        ...(location.caCert === undefined ? {} : { caCert: Buffer.from(location.caCert).toString('base64') }),
      },
      provider: options.provider,
    },
  }
}

/** The volume snapshot location `default`. */
export function volumeSnapshotLocationObject(options: InstallOptions): object | undefined {
  if (options.snapshotLocation === undefined) return undefined
  return {
    apiVersion: 'velero.io/v1',
    kind: 'VolumeSnapshotLocation',
    metadata: installMetadata('default', options.namespace),
    spec: { ...configOf(options.snapshotLocation.config), provider: options.provider },
  }
}

function configOf(config: Readonly<Record<string, string>>): object {
  return Object.keys(config).length === 0 ? {} : { config }
}
