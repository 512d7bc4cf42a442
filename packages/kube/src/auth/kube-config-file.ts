import { dirname, isAbsolute, join } from 'node:path'
import { parse } from 'yaml'
import { KubeError } from '../errors.ts'

/** A cluster entry of a kubeconfig; file paths are absolute. */
export interface KubeConfigCluster {
  server: string
  certificateAuthorityData?: string
  certificateAuthority?: string
  insecureSkipTlsVerify?: boolean
  tlsServerName?: string
  proxyUrl?: string
}

/** A user entry of a kubeconfig; file paths are absolute, `exec` and `authProvider` are as written. */
export interface KubeConfigUser {
  clientCertificateData?: string
  clientCertificate?: string
  clientKeyData?: string
  clientKey?: string
  token?: string
  tokenFile?: string
  username?: string
  password?: string
  as?: string
  asUid?: string
  asGroups?: string[]
  exec?: object
  authProvider?: object
}

export interface KubeConfigContext {
  cluster: string
  user?: string
  namespace?: string
}

/** One or several kubeconfig files as a whole. */
export interface KubeConfigFile {
  clusters: Map<string, KubeConfigCluster>
  users: Map<string, KubeConfigUser>
  contexts: Map<string, KubeConfigContext>
  currentContext: string | undefined
}

type Fields = Record<string, unknown>

/** Reads a kubeconfig's text. Relative paths in it are relative to its own folder. Throws `ConfigInvalid`. */
export function parseKubeConfig(text: string, path: string): KubeConfigFile {
  const root = parseYaml(text, path)
  const folder = dirname(path)
  const current = root['current-context']
  return {
    clusters: named(root.clusters, 'cluster', fields => readCluster(fields, folder)),
    users: named(root.users, 'user', fields => readUser(fields, folder)),
    contexts: named(root.contexts, 'context', readContext),
    currentContext: typeof current === 'string' && current !== '' ? current : undefined,
  }
}

/** Several files as kubectl merges them: the first to name a thing wins. */
export function mergeKubeConfigs(files: readonly KubeConfigFile[]): KubeConfigFile {
  const first = <T>(maps: Map<string, T>[]) => new Map(maps.toReversed().flatMap(map => [...map]))
  return {
    clusters: first(files.map(file => file.clusters)),
    users: first(files.map(file => file.users)),
    contexts: first(files.map(file => file.contexts)),
    currentContext: files.find(file => file.currentContext !== undefined)?.currentContext,
  }
}

function parseYaml(text: string, path: string): Fields {
  let parsed: unknown
  try {
    parsed = parse(text)
  } catch (cause) {
    throw invalid(path, 'it is not valid YAML', cause)
  }
  if (parsed === null || parsed === undefined) return {}
  if (!isFields(parsed)) throw invalid(path, 'it is not a mapping')
  return parsed
}

function invalid(path: string, reason: string, cause?: unknown): KubeError {
  return new KubeError('ConfigInvalid', {
    message: `kubeconfig ${path} cannot be used: ${reason}`,
    hint: 'correct the file, or name another one with --kubeconfig or KUBECONFIG',
    cause,
  })
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function named<T>(list: unknown, key: string, read: (fields: Fields) => T | undefined): Map<string, T> {
  const entries = new Map<string, T>()
  for (const entry of Array.isArray(list) ? list : []) {
    if (!isFields(entry) || typeof entry.name !== 'string') continue
    const value = read(isFields(entry[key]) ? entry[key] : {})
    if (value !== undefined && !entries.has(entry.name)) entries.set(entry.name, value)
  }
  return entries
}

function readCluster(fields: Fields, folder: string): KubeConfigCluster | undefined {
  const server = text(fields, 'server')
  if (server === undefined) return undefined
  return present({
    server: server.replace(/\/+$/, ''),
    certificateAuthorityData: text(fields, 'certificate-authority-data'),
    certificateAuthority: file(fields, 'certificate-authority', folder),
    insecureSkipTlsVerify: fields['insecure-skip-tls-verify'] === true,
    tlsServerName: text(fields, 'tls-server-name'),
    proxyUrl: text(fields, 'proxy-url'),
  })
}

function readUser(fields: Fields, folder: string): KubeConfigUser {
  const groups = fields['as-groups']
  return present({
    clientCertificateData: text(fields, 'client-certificate-data'),
    clientCertificate: file(fields, 'client-certificate', folder),
    clientKeyData: text(fields, 'client-key-data'),
    clientKey: file(fields, 'client-key', folder),
    token: text(fields, 'token'),
    tokenFile: file(fields, 'tokenFile', folder),
    username: text(fields, 'username'),
    password: text(fields, 'password'),
    as: text(fields, 'as'),
    asUid: text(fields, 'as-uid'),
    asGroups: Array.isArray(groups) ? groups.map(String) : undefined,
    exec: isFields(fields.exec) ? fields.exec : undefined,
    authProvider: isFields(fields['auth-provider']) ? fields['auth-provider'] : undefined,
  })
}

function readContext(fields: Fields): KubeConfigContext | undefined {
  const cluster = text(fields, 'cluster')
  if (cluster === undefined) return undefined
  return present({ cluster, user: text(fields, 'user'), namespace: text(fields, 'namespace') })
}

function text(fields: Fields, key: string): string | undefined {
  const value = fields[key]
  return typeof value === 'string' && value !== '' ? value : undefined
}

function file(fields: Fields, key: string, folder: string): string | undefined {
  const path = text(fields, key)
  return path === undefined || isAbsolute(path) ? path : join(folder, path)
}

type Present<T> = { [K in keyof T as undefined extends T[K] ? never : K]: T[K] } & {
  [K in keyof T as undefined extends T[K] ? K : never]?: Exclude<T[K], undefined>
}

function present<T extends object>(value: T): Present<T> {
  return Object.fromEntries(Object.entries(value).filter(([, field]) => field !== undefined)) as Present<T>
}
