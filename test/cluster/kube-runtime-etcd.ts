import { readFile } from 'node:fs/promises'
import { request } from 'node:https'
import { text } from 'node:stream/consumers'
import type { Cluster } from '../../tools/cluster/cluster.ts'

/** Calls etcd's JSON gateway, past the API server: for faults that only etcd can make. */
async function callEtcd(etcd: Cluster['etcd'], path: string, body: object): Promise<EtcdAnswer> {
  const [ca, cert, key] = await Promise.all(
    [etcd.caFile, etcd.certFile, etcd.keyFile].map(file => readFile(file)),
  )
  return new Promise((resolve, reject) => {
    const call = request(
      `${etcd.endpoint}${path}`,
      { method: 'POST', ca, cert, key, agent: false },
      response => {
        text(response)
          .then(answer => {
            if (response.statusCode === 200) resolve(JSON.parse(answer))
            else reject(new Error(`etcd answered ${response.statusCode} to ${path}: ${answer}`))
          })
          .catch(reject)
      },
    )
    call.on('error', reject).end(JSON.stringify(body))
  })
}

interface EtcdAnswer {
  header: { revision: string }
  deleted?: string
}

/** Removes one key; throws when it was not there. */
export async function deleteFromEtcd(etcd: Cluster['etcd'], key: string): Promise<void> {
  const { deleted } = await callEtcd(etcd, '/v3/kv/deleterange', { key: btoa(key) })
  if (deleted !== '1') throw new Error(`etcd has no key ${key}`)
}

/** The version of the last write of all. */
export async function revisionOfEtcd(etcd: Cluster['etcd']): Promise<string> {
  const { header } = await callEtcd(etcd, '/v3/kv/range', { key: btoa('/') })
  return header.revision
}

/** Forgets all history before now. */
export async function compactEtcd(etcd: Cluster['etcd']): Promise<void> {
  const revision = await revisionOfEtcd(etcd)
  await callEtcd(etcd, '/v3/kv/compaction', { revision, physical: true })
}
