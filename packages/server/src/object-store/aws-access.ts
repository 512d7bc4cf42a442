import { type AwsEnvironment, openAwsClients } from './aws-client.ts'
import type { AwsConfig } from './aws-config.ts'

/** Keys to sign requests with, and until when they are good. */
export interface AwsKeys {
  readonly accessKeyId: string
  readonly secretAccessKey: string
  readonly sessionToken?: string | undefined
  readonly expiration?: Date | undefined
}

/** What another client of the same bucket needs. */
export interface AwsAccess {
  readonly region: string
  /** Keys as they are now; they may change from call to call. */
  keys(): Promise<AwsKeys>
}

/** Finds region and keys of a location as its object store does. Rejects with SDK errors. */
export async function awsAccess(
  config: AwsConfig,
  environment: AwsEnvironment,
  signal?: AbortSignal,
): Promise<AwsAccess> {
  using clients = await openAwsClients(config, environment, signal)
  const { config: resolved } = clients.client
  return { region: await resolved.region(), keys: () => resolved.credentials() }
}
