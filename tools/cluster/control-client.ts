import { request } from 'node:http'
import { text } from 'node:stream/consumers'
import { ClusterError } from './cluster-error.ts'
import { filesOf } from './cluster-layout.ts'
import type { ComponentStatus } from './control-server.ts'

/** Talks to the supervisor of the cluster in `folder`. */
export function controlOf(cluster: { folder: string; name: string }) {
  const call = (path: string, body: object = {}) =>
    new Promise<string>((resolve, reject) => {
      const sent = request({ socketPath: filesOf(cluster).control, path, method: 'POST' }, response => {
        text(response).then(answer => {
          if (response.statusCode === 200) resolve(answer)
          else reject(refused(cluster.name, answer))
        }, reject)
      })
      sent.once('error', reject)
      sent.end(JSON.stringify(body))
    })
  return {
    status: async () => JSON.parse(await call('/status')) as ComponentStatus[],
    kill: async (name: string, signal: NodeJS.Signals = 'SIGKILL') =>
      void (await call('/kill', { name, signal })),
    start: async (name: string) => void (await call('/start', { name })),
    stop: async () => void (await call('/stop')),
  }
}

function refused(name: string, answer: string): ClusterError {
  return new ClusterError('CLUSTER_FAILED', `cluster ${name} refused: ${JSON.parse(answer).message}`, {
    hint: `See: npm run cluster -- status --name ${name}`,
  })
}
