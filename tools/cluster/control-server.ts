import { createServer, type IncomingMessage } from 'node:http'
import { json } from 'node:stream/consumers'
import { type ClusterPlan, filesOf } from './cluster-layout.ts'
import type { Component } from './component.ts'

/** What the supervisor says about one of its parts. */
export interface ComponentStatus {
  name: string
  running: boolean
  pid?: number
}

/** Answers `status`, `kill`, `start` and `stop` on the cluster's socket. */
export async function serveControl(
  plan: ClusterPlan,
  owner: { components: ReadonlyMap<string, Component>; stop: () => Promise<void> },
): Promise<void> {
  const server = createServer(async (request, response) => {
    const answer = (status: number, body: unknown) => {
      response.writeHead(status, { 'content-type': 'application/json' })
      response.end(JSON.stringify(body))
    }
    if (request.url === '/status') return answer(200, statusOf(owner.components))
    if (request.url === '/stop') {
      answer(200, {})
      return void owner.stop()
    }
    const { name, component, signal } = await addressed(request, owner.components)
    if (!component) return answer(404, { message: `there is no component ${name}` })
    if (request.url === '/kill') await component.kill(signal)
    else component.start()
    return answer(200, {})
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(filesOf(plan).control, resolve)
  })
  server.unref()
}

function statusOf(components: ReadonlyMap<string, Component>): ComponentStatus[] {
  return [...components.values()].map(({ plan, running, pid }) => ({
    name: plan.name,
    running,
    ...(pid === undefined ? {} : { pid }),
  }))
}

async function addressed(request: IncomingMessage, components: ReadonlyMap<string, Component>) {
  const { name, signal } = (await json(request)) as { name: string; signal?: NodeJS.Signals }
  return { name, component: components.get(name), signal }
}
