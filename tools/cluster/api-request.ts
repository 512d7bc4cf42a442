import { readFile } from 'node:fs/promises'
import { Agent, request } from 'node:https'
import { text } from 'node:stream/consumers'
import { type ClusterPlan, filesOf } from './cluster-layout.ts'

/** Makes plain requests to the cluster's API server as admin, for starting up; undefined when there is no answer. */
export async function apiRequests(plan: ClusterPlan) {
  const files = filesOf(plan)
  const [ca, cert, key] = await Promise.all(
    ['ca.crt', 'admin.crt', 'admin.key'].map(file => readFile(files.pki(file))),
  )
  const agent = new Agent({ ca, cert, key, keepAlive: false } as ConstructorParameters<typeof Agent>[0])
  return (path: string, options: { method?: string; body?: unknown } = {}) =>
    new Promise<{ status: number; body: string } | undefined>(resolve => {
      const call = request(
        {
          host: '127.0.0.1',
          port: plan.ports.apiServer,
          path,
          agent,
          method: options.method ?? 'GET',
          timeout: 5000,
          headers: { 'content-type': 'application/json' },
        },
        response => {
          text(response).then(
            body => resolve({ status: response.statusCode ?? 0, body }),
            () => resolve(undefined),
          )
        },
      )
      call.once('error', () => resolve(undefined))
      call.once('timeout', () => call.destroy())
      call.end(options.body === undefined ? undefined : JSON.stringify(options.body))
    })
}
