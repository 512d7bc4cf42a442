import { createKubeClient } from '../create-kube-client.ts'
import { fixedConfig } from './fault-server.ts'

/** Lists every ConfigMap of the server named as argument; prints their count and this process's peak memory. */
const server = process.argv[2] ?? ''
await using client = await createKubeClient({ config: fixedConfig(server) })
const configMaps = { group: '', version: 'v1', kind: 'ConfigMap', plural: 'configmaps', namespaced: true }
let count = 0
for await (const _ of client.resource(configMaps).list()) count++
console.log(JSON.stringify({ count, peakBytes: process.resourceUsage().maxRSS * 1024 }))
