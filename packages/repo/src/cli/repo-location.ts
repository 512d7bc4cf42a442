import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { RepoOptions } from '../unified/backup-repo.ts'
import { StorageOption, StorageType } from '../unified/backup-repo.ts'
import { usageError } from './usage-error.ts'

/** The flags that say more about an S3 location. */
export interface StorageFlags {
  readonly 's3-endpoint'?: string | undefined
  readonly 's3-region'?: string | undefined
  readonly 's3-ca-file'?: string | undefined
  readonly 's3-skip-tls-verify'?: boolean | undefined
}

/** Where a repository is, without its password. */
export type RepoLocation = Pick<RepoOptions, 'storageType' | 'storageOptions'>

type Environment = Readonly<Record<string, string | undefined>>

/**
 * Reads `file:///folder` or `s3://bucket/prefix`, with the rest of an S3 location from flags, then from the
 * variables of the AWS tools. Throws `INVALID_ARGUMENT` for anything else.
 */
export function parseRepoLocation(text: string, flags: StorageFlags, env: Environment): RepoLocation {
  const url = URL.parse(text)
  if (url?.protocol === 'file:') return folderLocation(text, url)
  if (url?.protocol === 's3:') return s3Location(url, flags, env)
  throw usageError(
    `"${text}" names no repository`,
    'write --repo file:///folder or --repo s3://bucket/prefix',
  )
}

function folderLocation(text: string, url: URL): RepoLocation {
  if (url.host !== '' || !text.startsWith('file:///')) {
    throw usageError(`"${text}" is no absolute folder`, 'write three slashes, as in file:///backup/repo')
  }
  return {
    storageType: StorageType.filesystem,
    storageOptions: { [StorageOption.path]: fileURLToPath(url) },
  }
}

function s3Location(url: URL, flags: StorageFlags, env: Environment): RepoLocation {
  if (url.host === '') throw usageError(`"${url.href}" names no bucket`, 'write s3://bucket/prefix')
  if (url.username !== '' || url.password !== '' || url.search !== '') {
    throw usageError(
      'the location of a repository holds more than bucket and prefix',
      'give credentials as AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY',
    )
  }
  const caFile = flags['s3-ca-file'] ?? env.AWS_CA_BUNDLE
  const options: Record<string, string | undefined> = {
    [StorageOption.bucket]: url.host,
    [StorageOption.prefix]: keyPrefix(url.pathname),
    [StorageOption.endpoint]: flags['s3-endpoint'] ?? env.AWS_ENDPOINT_URL_S3 ?? env.AWS_ENDPOINT_URL,
    [StorageOption.region]: flags['s3-region'] ?? env.AWS_REGION ?? env.AWS_DEFAULT_REGION,
    [StorageOption.accessKeyId]: env.AWS_ACCESS_KEY_ID,
    [StorageOption.secretAccessKey]: env.AWS_SECRET_ACCESS_KEY,
    [StorageOption.sessionToken]: env.AWS_SESSION_TOKEN,
    [StorageOption.caCertificate]: caFile === undefined ? undefined : readCertificate(caFile),
    [StorageOption.skipTlsVerify]: flags['s3-skip-tls-verify'] ? 'true' : undefined,
  }
  const given = Object.entries(options).filter(([, value]) => value !== undefined && value !== '')
  return { storageType: StorageType.s3, storageOptions: Object.fromEntries(given) as Record<string, string> }
}

/** Blob names follow the prefix directly, so that a prefix which is a folder must end in a slash. */
function keyPrefix(pathname: string): string {
  const prefix = decodeURIComponent(pathname).replace(/^\/+/, '')
  return prefix === '' || prefix.endsWith('/') ? prefix : `${prefix}/`
}

function readCertificate(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (cause) {
    throw usageError(
      `the certificates in ${file} cannot be read: ${(cause as Error).message}`,
      'check the path',
    )
  }
}
