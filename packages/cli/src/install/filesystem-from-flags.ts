import { CliError } from '../cli-error.ts'
import type { FilesystemVolume } from './install-options.ts'

/** Where a folder for backups is mounted, unless the location's settings say otherwise. */
const usualMountPath = '/backups'

/** Folders of the image, the system and the pods that a mount would hide; the server takes no location in most of them. */
const taken = [
  ...[
    '/proc',
    '/sys',
    '/dev',
    '/etc',
    '/run',
    '/var/run',
    '/boot',
    '/root',
    '/bin',
    '/sbin',
    '/lib',
    '/lib64',
  ],
  ...[
    '/usr',
    '/opt/lateen',
    '/tmp',
    '/scratch',
    '/plugins',
    '/credentials',
    '/host_pods',
    '/var/lib/kubelet',
  ],
]

/** The flags that tell about a folder for backups. */
export interface FilesystemFlags {
  readonly provider: string | undefined
  readonly bucket: string | undefined
  readonly 'filesystem-pvc': string | undefined
  readonly 'filesystem-host-path': string | undefined
  readonly 'backup-location-config': Readonly<Record<string, string>>
}

export function isFilesystem(provider: string | undefined): boolean {
  return provider === 'filesystem' || provider === 'velero.io/filesystem'
}

/** The volume to mount for locations in a folder. Throws a CliError for flags that contradict each other. */
export function filesystemFrom(flags: FilesystemFlags): FilesystemVolume | undefined {
  const { 'filesystem-pvc': claim, 'filesystem-host-path': hostPath, provider, bucket } = flags
  const ours = isFilesystem(provider)
  if (claim && hostPath)
    refuse('--filesystem-pvc and --filesystem-host-path contradict each other', 'give one of them')
  if (!claim && !hostPath) return withoutVolume(flags)
  if (hostPath && !hostPath.startsWith('/'))
    refuse(`--filesystem-host-path must be an absolute path, and ${hostPath} is not`)
  return {
    ...(claim ? { claim } : { hostPath: hostPath ?? '' }),
    mountPath: mountPathOf((ours && flags['backup-location-config'].path) || usualMountPath),
    ...(ours && bucket ? { bucket } : {}),
  }
}

/** Whoever names a path has a way of their own to mount something there. */
function withoutVolume(flags: FilesystemFlags): undefined {
  if (!isFilesystem(flags.provider) || !flags.bucket || flags['backup-location-config'].path) return undefined
  refuse(
    '--provider filesystem needs a folder to keep backups in',
    'give --filesystem-pvc CLAIM or --filesystem-host-path FOLDER',
  )
}

function mountPathOf(given: string): string {
  const mountPath = given.replace(/(?<=.)\/+$/, '')
  const isTaken = taken.some(folder => `${mountPath}/`.startsWith(`${folder}/`))
  if (/^\/[^/]/.test(mountPath) && !mountPath.split('/').includes('..') && !isTaken) return mountPath
  return refuse(
    `the path ${mountPath} of --backup-location-config cannot hold backups`,
    'such as path=/backups',
  )
}

/** The settings of the default location: where it is mounted, beside what was given. */
export function locationConfigOf(
  flags: FilesystemFlags,
  volume: FilesystemVolume | undefined,
): Record<string, string> {
  const given = flags['backup-location-config']
  if (volume === undefined || !isFilesystem(flags.provider)) return given
  return { createBucket: 'true', ...given, path: volume.mountPath }
}

function refuse(message: string, hint?: string): never {
  throw new CliError('USAGE', message, hint === undefined ? {} : { hint })
}
