import { X509Certificate } from 'node:crypto'
import { type ObjectStoreConfig, ObjectStoreError } from '@lateen/plugin'
import { rejectUnknownKeys } from './config-keys.ts'

/** How objects are encrypted where they are stored. */
export type ServerSideEncryption =
  | { type: 'none' }
  | { type: 'kms'; keyId: string }
  | { type: 'algorithm'; name: string }
  | { type: 'customer-key-file'; path: string }
  | { type: 'customer-key-secret'; secret: { name: string; key: string } }

export const checksumAlgorithms = ['CRC32', 'CRC32C', 'SHA1', 'SHA256'] as const
export type ChecksumAlgorithm = (typeof checksumAlgorithms)[number]

/** The settings of an S3 location, checked. */
export interface AwsConfig {
  bucket: string
  /** Undefined: ask the store. */
  region: string | undefined
  /** Undefined: Amazon's own. */
  s3Url: string | undefined
  /** What signed URLs begin with, if not `s3Url`. */
  publicUrl: string | undefined
  forcePathStyle: boolean
  insecureSkipTlsVerify: boolean
  /** PEM, trusted in addition to the system's. */
  caCert: string | undefined
  credentialsFile: string | undefined
  profile: string | undefined
  encryption: ServerSideEncryption
  /** `key=value&key=value`, as S3 takes it. */
  tagging: string | undefined
  /** Undefined: none is sent. */
  checksumAlgorithm: ChecksumAlgorithm | undefined
}

/** Every setting that velero-plugin-for-aws 1.14 documents. */
const knownKeys = [
  'region',
  's3Url',
  'publicUrl',
  's3ForcePathStyle',
  'insecureSkipTLSVerify',
  'kmsKeyId',
  'customerKeyEncryptionFile',
  'customerKeyEncryptionSecret',
  'serverSideEncryption',
  // Accepted and without effect, as in the plugin: links are always signed with version 4, and the credentials
  // file is always read as a shared configuration too.
  'signatureVersion',
  'enableSharedConfig',
  'profile',
  'tagging',
  'checksumAlgorithm',
]

/** Throws INVALID_CONFIG naming the setting, what is wrong with it and what it takes. */
export function parseAwsConfig(config: ObjectStoreConfig): AwsConfig {
  rejectUnknownKeys(config, { provider: 'aws', known: knownKeys })
  return {
    bucket: config.bucket ?? '',
    region: optional(config, 'region'),
    s3Url: httpUrl(config, 's3Url'),
    publicUrl: httpUrl(config, 'publicUrl'),
    forcePathStyle: flag(config, 's3ForcePathStyle'),
    insecureSkipTlsVerify: flag(config, 'insecureSkipTLSVerify'),
    caCert: caCertOf(config),
    credentialsFile: optional(config, 'credentialsFile'),
    profile: optional(config, 'profile'),
    encryption: encryptionOf(config),
    tagging: taggingOf(config),
    checksumAlgorithm: checksumOf(config),
  }
}

function invalid(reason: string, hint: string): ObjectStoreError {
  return new ObjectStoreError('INVALID_CONFIG', { reason, hint })
}

function optional(config: ObjectStoreConfig, key: string): string | undefined {
  const value = config[key]
  return value === undefined || value === '' ? undefined : value
}

function httpUrl(config: ObjectStoreConfig, key: string): string | undefined {
  const value = optional(config, key)
  if (value === undefined || (/^https?:\/\//.test(value) && URL.canParse(value))) return value
  throw invalid(
    `config.${key} ${JSON.stringify(value)} is not a URL`,
    'Write it with http:// or https:// in front',
  )
}

function flag(config: ObjectStoreConfig, key: string): boolean {
  const value = optional(config, key)
  if (value === undefined || /^(0|f|F|false|False|FALSE)$/.test(value)) return false
  if (/^(1|t|T|true|True|TRUE)$/.test(value)) return true
  throw invalid(`config.${key} is ${JSON.stringify(value)}`, 'Set it to "true" or "false"')
}

const begin = '-----BEGIN CERTIFICATE-----'
const end = '-----END CERTIFICATE-----'

function caCertOf(config: ObjectStoreConfig): string | undefined {
  const pem = optional(config, 'caCert')
  if (pem === undefined) return undefined
  const certificates = certificatesIn(pem)
  // TLS would silently leave out what it cannot read.
  if (certificates.length > 0 && certificates.every(isCertificate)) return pem
  throw invalid(
    'the CA certificate of the location cannot be read',
    'It must be whole certificates in PEM format; in spec.objectStorage.caCert that text is base64-encoded once',
  )
}

/** Everything between a beginning and the next end, where the next beginning is searched for. */
function certificatesIn(pem: string): string[] {
  const found: string[] = []
  for (let from = pem.indexOf(begin); from >= 0; ) {
    const to = pem.indexOf(end, from)
    if (to < 0) break
    found.push(pem.slice(from, to + end.length))
    from = pem.indexOf(begin, to)
  }
  return found
}

function isCertificate(pem: string): boolean {
  try {
    return new X509Certificate(pem).subject !== ''
  } catch {
    return false
  }
}

function encryptionOf(config: ObjectStoreConfig): ServerSideEncryption {
  const keys = ['kmsKeyId', 'customerKeyEncryptionFile', 'customerKeyEncryptionSecret']
  const [kmsKeyId, file, secret] = keys.map(key => optional(config, key))
  const given = keys.filter(key => optional(config, key) !== undefined)
  if (given.length > 1) {
    throw invalid(`config has ${given.join(' and ')}, which exclude each other`, 'Keep one of them')
  }
  if (kmsKeyId !== undefined) return { type: 'kms', keyId: kmsKeyId }
  if (file !== undefined) return { type: 'customer-key-file', path: file }
  if (secret !== undefined) return { type: 'customer-key-secret', secret: secretReference(secret) }
  const algorithm = optional(config, 'serverSideEncryption')
  return algorithm === undefined ? { type: 'none' } : { type: 'algorithm', name: algorithm }
}

function secretReference(text: string): { name: string; key: string } {
  const [name = '', key = '', ...rest] = text.split('/')
  if (name !== '' && key !== '' && rest.length === 0) return { name, key }
  throw invalid(
    `config.customerKeyEncryptionSecret is ${JSON.stringify(text)}`,
    "Write it as the secret's name, a slash, and the key in it",
  )
}

/** S3 takes ten tags per object, keys of 128 characters and values of 256. */
function taggingOf(config: ObjectStoreConfig): string | undefined {
  const tagging = optional(config, 'tagging')
  if (tagging === undefined) return undefined
  const tags = tagging.split('&').map(tag => tag.split('='))
  const hint = 'Write it as Key1=Value1&Key2=Value2'
  if (tags.length > 10) throw invalid(`config.tagging has ${tags.length} tags; S3 takes ten per object`, hint)
  for (const tag of tags) {
    const [key = '', value = ''] = tag
    if (tag.length !== 2 || key === '') throw invalid(`config.tagging is ${JSON.stringify(tagging)}`, hint)
    if ([...key].length > 128) throw invalid('a key in config.tagging is longer than 128 characters', hint)
    if ([...value].length > 256)
      throw invalid('a value in config.tagging is longer than 256 characters', hint)
  }
  return tagging
}

/** Absent means CRC32, set but empty means none. */
function checksumOf(config: ObjectStoreConfig): ChecksumAlgorithm | undefined {
  const value = config.checksumAlgorithm
  if (value === undefined) return 'CRC32'
  if (value === '') return undefined
  const algorithm = checksumAlgorithms.find(name => name === value)
  if (algorithm !== undefined) return algorithm
  throw invalid(
    `config.checksumAlgorithm is ${JSON.stringify(value)}`,
    `Use one of ${checksumAlgorithms.join(', ')}, or "" for none`,
  )
}
