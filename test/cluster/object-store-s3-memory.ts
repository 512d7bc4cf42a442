import { randomBytes } from 'node:crypto'
import { AwsStore } from '../../packages/server/src/object-store/aws.ts'
import { defaultAwsTimeouts } from '../../packages/server/src/object-store/aws-client.ts'

// Puts one large object in a process of its own and prints by how much its memory grew.
const MiB = 1024 * 1024
const { config, bucket, key, megabytes } = JSON.parse(process.argv[2] ?? '{}')
const store = new AwsStore({
  timeouts: defaultAwsTimeouts,
  env: {},
  readSecret: () => Promise.reject(new Error('no secret was to be read')),
})
await store.init({ config })
await store.putObject({ bucket, key, body: randomBytes(MiB) })

async function* body(): AsyncGenerator<Uint8Array> {
  for (let n = 0; n < megabytes; n++) yield randomBytes(MiB)
}
const before = process.memoryUsage().rss
await store.putObject({ bucket, key, body: body(), signal: new AbortController().signal })
const grownMiB = Math.round((process.resourceUsage().maxRSS * 1024 - before) / MiB)
let stored = 0
for await (const chunk of await store.getObject({ bucket, key })) stored += chunk.length
await store.deleteObject({ bucket, key })
await store[Symbol.asyncDispose]()
console.log(JSON.stringify({ grownMiB, storedMiB: stored / MiB }))
