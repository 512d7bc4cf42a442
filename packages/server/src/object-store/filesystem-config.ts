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
