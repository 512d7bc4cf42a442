/** `create-with-bare-loop.ts KUBECONFIG NAMESPACE FIRST COUNT PAYLOAD`: the same with nothing but an HTTP client. */
import { loadKubeConfig } from '@lateen/kube'
import { Pool } from 'undici'
import { concurrency, configMap, readCreateArguments, runInParallel } from './config-map.ts'

const { kubeconfig, namespace, first, count, payload } = readCreateArguments(process.argv)
const { server, tls } = await loadKubeConfig({ path: kubeconfig })
const { ca, cert, key } = tls
const connect = { ...(ca && { ca }), ...(cert && { cert }), ...(key && { key }) }
const pool = new Pool(server, { connections: concurrency, allowH2: false, connect })
const path = `/api/v1/namespaces/${namespace}/configmaps`
const headers = { 'content-type': 'application/json' }
const started = performance.now()
await runInParallel(count, async number => {
  const body = JSON.stringify(configMap(first + number, payload))
  const response = await pool.request({ method: 'POST', path, headers, body })
  await response.body.text()
  if (response.statusCode !== 201) throw new Error(`the server answered ${response.statusCode}`)
})
console.log(JSON.stringify({ count, ms: performance.now() - started }))
await pool.close()
