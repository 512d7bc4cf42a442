/** `list-with-lateen.ts KUBECONFIG NAMESPACE`: lists ConfigMaps with our client, decoding each. */
import { createKubeClient, loadKubeConfig } from '@lateen/kube'
import { ConfigMapKind } from './config-map.ts'

const [, , path = '', namespace = ''] = process.argv
await using client = await createKubeClient({ config: await loadKubeConfig({ path }) })
const started = performance.now()
let count = 0
for await (const object of client.resource(ConfigMapKind, namespace).list()) {
  if (object.data.text !== undefined) count++
}
console.log(JSON.stringify({ count, ms: performance.now() - started }))
