import type { IncomingMessage, ServerResponse } from 'node:http'
import { pipeline } from 'node:stream/promises'
import { getHeapSnapshot } from 'node:v8'
import { type Clock, type Route, type RouteHandler, sendText } from '@lateen/kube'
import { profileCpu } from './profile-cpu.ts'

/** Of a CPU profile whose length nobody names, and of the longest. */
const DEFAULT_SECONDS = 30
const MOST_SECONDS = 300

const index = `/debug/heap             a snapshot of the heap, for the memory panel of Chrome's developer tools
/debug/cpu?seconds=30   a profile of the CPU, for their performance panel; at most ${MOST_SECONDS} seconds
`

/**
 * `/debug/heap` and `/debug/cpu`, one request at a time: both slow the process down, and a snapshot needs as much memory again
 * as the heap has. Both may hold secrets.
 */
export function profilerRoutes(clock: Clock): Route[] {
  const alone = oneAtATime()
  return [
    { path: '/debug/', handler: (_, response) => sendText(response, 200, index) },
    { path: '/debug/heap', methods: ['GET'], handler: alone(sendHeap) },
    {
      path: '/debug/cpu',
      methods: ['GET'],
      handler: alone(async (request, response) => {
        const seconds = secondsAsked(request)
        if (seconds === undefined) {
          return sendText(response, 400, `seconds must be a number from 1 to ${MOST_SECONDS}\n`)
        }
        using left = clientLeaves(response)
        try {
          const profile = await profileCpu(seconds * 1_000, clock, left.signal)
          response.writeHead(200, fileHeaders('lateen.cpuprofile')).end(profile)
        } catch (error) {
          if (!left.signal.aborted) throw error
        }
      }),
    },
  ]
}

/** Answers 429 while another request of any of the handlers is under way. */
function oneAtATime(): (handler: RouteHandler) => RouteHandler {
  let busy = false
  return handler => async (request, response) => {
    if (busy) return sendText(response, 429, 'another profile is being taken: try again when it is done\n')
    busy = true
    try {
      await handler(request, response)
    } finally {
      busy = false
    }
  }
}

async function sendHeap(_: IncomingMessage, response: ServerResponse): Promise<void> {
  response.writeHead(200, fileHeaders('lateen.heapsnapshot'))
  try {
    await pipeline(getHeapSnapshot(), response)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_STREAM_PREMATURE_CLOSE') throw error
  }
}

function secondsAsked({ url = '/' }: IncomingMessage): number | undefined {
  const asked = new URL(url, 'http://localhost').searchParams.get('seconds') ?? String(DEFAULT_SECONDS)
  const seconds = /^\d{1,3}$/.test(asked) ? Number(asked) : 0
  return seconds >= 1 && seconds <= MOST_SECONDS ? seconds : undefined
}

function clientLeaves(response: ServerResponse): Disposable & { signal: AbortSignal } {
  const controller = new AbortController()
  const leave = () => controller.abort()
  response.once('close', leave)
  return { signal: controller.signal, [Symbol.dispose]: () => void response.off('close', leave) }
}

function fileHeaders(name: string): Record<string, string> {
  return {
    'content-type': 'application/json',
    'content-disposition': `attachment; filename="${name}"`,
    'cache-control': 'no-store',
  }
}
