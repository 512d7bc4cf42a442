import { randomBytes } from 'node:crypto'
import { builtInKind, type KubeObject } from '@lateen/kube'

/** What the bench creates and lists. */
export interface BenchConfigMap extends KubeObject {
  data: Record<string, string>
}

export const ConfigMapKind = builtInKind<BenchConfigMap>('ConfigMap')

/** Requests at the same time, and connections. */
export const concurrency = 32

/** Data that gzip makes almost nothing of, or as good as none at all. */
export type Payload = 'uniform' | 'random'

const uniform = 'x'.repeat(1024)

/** A ConfigMap with 1 KiB of data. */
export function configMap(number: number, payload: Payload): BenchConfigMap {
  const name = `bench-${String(number).padStart(6, '0')}`
  return {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name },
    data: { text: payload === 'uniform' ? uniform : randomBytes(768).toString('base64') },
  }
}

/** The command line of the scripts that create. */
export function readCreateArguments([, , kubeconfig = '', namespace = '', ...rest]: string[]) {
  const [first, count, payload] = rest
  return { kubeconfig, namespace, first: Number(first), count: Number(count), payload: payload as Payload }
}

/** Does `work` for 0 to `count` - 1, a fixed number at the same time. */
export async function runInParallel(count: number, work: (number: number) => Promise<void>): Promise<void> {
  let next = 0
  const lane = async () => {
    while (next < count) await work(next++)
  }
  await Promise.all(Array.from({ length: concurrency }, lane))
}
