import { readFile } from 'node:fs/promises'
import { createSecureContext, getCACertificates } from 'node:tls'
import { HeadBucketCommand, S3Client, type S3ClientConfig } from '@aws-sdk/client-s3'
import { fromIni } from '@aws-sdk/credential-provider-ini'
import { defaultProvider } from '@aws-sdk/credential-provider-node'
import { type Fence, noFence } from '@lateen/kube'
import { ObjectStoreError } from '@lateen/plugin'
import type { AwsConfig } from './aws-config.ts'
import { FencedHttpAgent, FencedHttpsAgent } from './fenced-agents.ts'

export interface AwsTimeouts {
  /** For a connection to come up, TLS included. */
  connectMs: number
  /** For a connection on which nothing moves, in either direction. */
  idleMs: number
  /** Tries of one request, the first included. */
  attempts: number
}

export const defaultAwsTimeouts: AwsTimeouts = { connectMs: 10_000, idleMs: 60_000, attempts: 3 }

export interface AwsEnvironment {
  timeouts: AwsTimeouts
  /** For AWS_SHARED_CREDENTIALS_FILE, AWS_REGION and proxy settings. */
  env: Readonly<Record<string, string | undefined>>
  /** Asked about every change, right before its first byte. Default: none. */
  fence?: Fence
}

/** The client that requests go through, and the one that signs URLs for others to use. */
export interface AwsClients extends Disposable {
  client: S3Client
  presigner: S3Client
}

const PARTITION_REGION = 'us-east-1'

/**
 * Connects the settings of a location to the SDK. Asks Amazon for the bucket's region when none is set.
 * Rejects with SDK errors.
 */
export async function openAwsClients(
  config: AwsConfig,
  environment: AwsEnvironment,
  signal?: AbortSignal,
): Promise<AwsClients> {
  if (config.credentialsFile !== undefined) await refusePrograms(config.credentialsFile)
  const base = clientConfig(config, environment)
  const region = config.region ?? (await regionFor(config, { base, environment, signal }))
  const client = new S3Client({ ...base, ...endpointOf(config.s3Url), region })
  const presigner =
    config.publicUrl === undefined
      ? client
      : new S3Client({ ...base, ...endpointOf(config.publicUrl), region })
  return {
    client,
    presigner,
    [Symbol.dispose]: () => {
      client.destroy()
      presigner.destroy()
    },
  }
}

function endpointOf(url: string | undefined): S3ClientConfig {
  return url === undefined ? {} : { endpoint: url }
}

function clientConfig(config: AwsConfig, { timeouts, env, fence = noFence }: AwsEnvironment): S3ClientConfig {
  const proxyEnv = proxySettings(env)
  return {
    credentials: credentialsOf(config, env),
    forcePathStyle: config.forcePathStyle,
    maxAttempts: timeouts.attempts,
    // As the plugin does: S3 servers other than Amazon's refuse checksums that nobody asked for.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    followRegionRedirects: false,
    requestHandler: {
      connectionTimeout: timeouts.connectMs,
      socketTimeout: timeouts.idleMs,
      httpAgent: new FencedHttpAgent({ keepAlive: true, proxyEnv }, fence),
      httpsAgent: new FencedHttpsAgent(
        {
          keepAlive: true,
          proxyEnv,
          secureContext: secureContextOf(config),
          rejectUnauthorized: !config.insecureSkipTlsVerify,
        },
        fence,
      ),
    },
  }
}

/** The usual variables; as in Go programs, this machine itself is never reached through a proxy. */
function proxySettings(env: AwsEnvironment['env']): Record<string, string | undefined> {
  const NO_PROXY = [env.NO_PROXY ?? env.no_proxy, 'localhost', '127.0.0.1', '::1'].filter(Boolean).join(',')
  const { HTTP_PROXY, http_proxy, HTTPS_PROXY, https_proxy } = env
  return { HTTP_PROXY, http_proxy, HTTPS_PROXY, https_proxy, NO_PROXY }
}

/** A credentials file that the location names is the only source; otherwise the SDK's usual chain is. */
function credentialsOf(
  config: AwsConfig,
  env: AwsEnvironment['env'],
): NonNullable<S3ClientConfig['credentials']> {
  const file = config.credentialsFile ?? env.AWS_SHARED_CREDENTIALS_FILE
  const profile = config.profile === undefined ? {} : { profile: config.profile }
  if (file === undefined || file === '') return defaultProvider(profile)
  // One file serves as credentials and as configuration, so that it may assume roles.
  return fromIni({ profile: 'default', ...profile, filepath: file, configFilepath: file, ignoreCache: true })
}

/**
 * The file comes from a secret, and those who may write secrets may not therefore run programs in the server. The server's own file, which
 * its environment names, may. Throws INVALID_CONFIG.
 */
async function refusePrograms(file: string): Promise<void> {
  const text = await readFile(file, 'utf8')
  if (!/^[^\S\n]*credential_process[^\S\n]*=/m.test(text)) return
  throw new ObjectStoreError('INVALID_CONFIG', {
    reason: 'the credentials of the location name a credential_process, which would run in the server',
    hint: "Put keys into the secret, or give the program to the server's own credentials file",
  })
}

function secureContextOf({ caCert }: AwsConfig): ReturnType<typeof createSecureContext> {
  const ca = [...getCACertificates('default'), ...getCACertificates('system')]
  return createSecureContext({ ca: caCert === undefined ? ca : [...ca, caCert] })
}

interface RegionScope {
  base: S3ClientConfig
  environment: AwsEnvironment
  signal: AbortSignal | undefined
}

/** Other S3 servers rarely care about the region; Amazon tells where a bucket is. */
async function regionFor(config: AwsConfig, { base, environment, signal }: RegionScope): Promise<string> {
  const { env } = environment
  if (config.s3Url !== undefined) return env.AWS_REGION ?? env.AWS_DEFAULT_REGION ?? PARTITION_REGION
  const client = new S3Client({ ...base, region: PARTITION_REGION })
  try {
    return await bucketRegion(client, config.bucket, signal)
  } finally {
    client.destroy()
  }
}

/**
 * The region of a bucket as the store tells it, in refusals too: it is in the answer's headers whoever asks.
 * Rejects with the SDK's error when the store does not tell.
 */
export async function bucketRegion(client: S3Client, bucket: string, signal?: AbortSignal): Promise<string> {
  try {
    const answer = await client.send(new HeadBucketCommand({ Bucket: bucket }), {
      ...(signal && { abortSignal: signal }),
    })
    return answer.BucketRegion ?? PARTITION_REGION
  } catch (error) {
    const region = regionHeaderOf(error)
    if (region === undefined) throw error
    return region
  }
}

function regionHeaderOf(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined
  const { $response }: Error & { $response?: { headers?: Record<string, string> } } = error
  return $response?.headers?.['x-amz-bucket-region']
}
