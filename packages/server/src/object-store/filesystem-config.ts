import { isAbsolute } from 'node:path'
import { type ObjectStoreConfig, ObjectStoreError } from '@lateen/plugin'
import { rejectUnknownKeys } from './config-keys.ts'

/** The settings of a filesystem location, checked. */
export interface FilesystemConfig {
  /** Absolute; buckets are folders directly in it. */
  path: string
  /** How clients reach this server's downloads, if not by its own idea of that. */
  publicUrl: string | undefined
  bucket: string
  /** Of the location, within the bucket. */
  prefix: string
  /** Whether to make the bucket's folder when it is missing. */
  createBucket: boolean
}

const knownKeys = ['path', 'publicUrl', 'createBucket']

/** Throws INVALID_CONFIG naming the setting. Does not look at the disk. */
export function parseFilesystemConfig(config: ObjectStoreConfig): FilesystemConfig {
  rejectUnknownKeys(config, { provider: 'filesystem', known: knownKeys })
  const path = config.path ?? ''
  if (!isAbsolute(path) || path.includes('\0')) {
    throw new ObjectStoreError('INVALID_CONFIG', {
      reason:
        path === ''
          ? 'config.path is missing'
          : `config.path ${JSON.stringify(path)} is not an absolute path`,
      hint: 'Set config.path to the absolute path of a folder that the server has mounted',
    })
  }
  const createBucket = config.createBucket ?? 'false'
  if (createBucket !== 'true' && createBucket !== 'false') {
    throw new ObjectStoreError('INVALID_CONFIG', {
      reason: `config.createBucket is ${JSON.stringify(createBucket)}`,
      hint: 'Set it to "true" or "false"',
    })
  }
  return {
    path,
    publicUrl: publicUrlOf(config),
    bucket: config.bucket ?? '',
    prefix: config.prefix ?? '',
    createBucket: createBucket === 'true',
  }
}

function publicUrlOf(config: ObjectStoreConfig): string | undefined {
  const url = config.publicUrl
  if (url === undefined || url === '') return undefined
  if (URL.canParse(url) && /^https?:\/\//.test(url)) return url
  throw new ObjectStoreError('INVALID_CONFIG', {
    reason: `config.publicUrl ${JSON.stringify(url)} is not an http:// or https:// URL`,
    hint: "Set it to the URL under which clients reach the server's HTTP address",
  })
}

/** Folders of the system and of the server itself: tokens, certificates, devices, programs that it runs. */
const systemFolders = [
  ...['/proc', '/sys', '/dev', '/etc', '/run', '/var/run', '/boot', '/root'],
  ...['/bin', '/sbin', '/lib', '/lib64', '/usr', '/credentials', '/plugins', '/scratch'],
  // Where node agents have the volumes of all pods.
  ...['/host_pods', '/var/lib/kubelet'],
]

/** Throws INVALID_CONFIG for a folder that holds no backups, whoever may write locations says so. Takes a path without links. */
export function refuseSystemFolder(folder: string): void {
  const system = systemFolders.find(each => folder === each || folder.startsWith(`${each}/`))
  if (system === undefined) return
  throw new ObjectStoreError('INVALID_CONFIG', {
    reason: `${folder} is a folder of the system, where no location may be`,
    hint: 'Mount a volume of its own for backups, such as at /backups, and set config.path to that',
  })
}
