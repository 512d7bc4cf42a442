import { mkdir } from 'node:fs/promises'
import path from 'node:path'
import type { Cluster } from '../../tools/cluster/cluster.ts'
import { addressesOf, filesOf } from '../../tools/cluster/cluster-layout.ts'
import { startMisbehavingProxy } from './misbehaving-proxy.ts'

/** A bucket of a cluster with a node whose data come and go only while its gate is open. */
export interface GatedBucket {
  readonly name: string
  /** The location for it, to be created in the namespace of an installation. */
  location(namespace: string): object
  /** From now on packs of data wait, and resolves when the first does. */
  closed(): Promise<void>
  open(): void
  /** On this machine. */
  readonly folder: string
}

export interface GatedBuckets extends AsyncDisposable {
  bucket(name: string): Promise<GatedBucket>
}

interface Gate {
  opened: PromiseWithResolvers<void>
  waited: PromiseWithResolvers<void>
}

/** Puts a proxy before the cluster's S3 server. */
export async function openGatedBuckets({ plan, s3 }: Cluster): Promise<GatedBuckets> {
  const gates = new Map<string, Gate>()
  const proxy = await startMisbehavingProxy(
    s3.endpoint,
    async ({ url = '' }) => {
      const gate = gates.get(url.split(/[/?]/)[1] ?? '')
      if (gate === undefined || !/\/p[0-9a-f]{30,}/.test(url)) return undefined
      gate.waited.resolve()
      await gate.opened.promise
      return undefined
    },
    { host: addressesOf(plan).host },
  )

  async function bucket(name: string): Promise<GatedBucket> {
    const folder = path.join(filesOf(plan).data('s3'), 'objects', name)
    await mkdir(folder)
    return {
      name,
      folder,
      location: namespace => ({
        apiVersion: 'velero.io/v1',
        kind: 'BackupStorageLocation',
        metadata: { name, namespace },
        spec: {
          provider: 'aws',
          objectStorage: { bucket: name },
          config: { s3Url: proxy.endpoint, region: s3.region, s3ForcePathStyle: 'true' },
        },
      }),
      closed() {
        const gate = { opened: Promise.withResolvers<void>(), waited: Promise.withResolvers<void>() }
        gates.set(name, gate)
        return gate.waited.promise
      },
      open() {
        gates.get(name)?.opened.resolve()
        gates.delete(name)
      },
    }
  }
  return { bucket, [Symbol.asyncDispose]: () => proxy[Symbol.asyncDispose]() }
}
