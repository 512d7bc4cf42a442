/** `list-with-client-node.ts KUBECONFIG NAMESPACE`: the same with `@kubernetes/client-node`. */
import { CoreV1Api, KubeConfig } from '@kubernetes/client-node'

const [, , path = '', namespace = ''] = process.argv
const config = new KubeConfig()
config.loadFromFile(path)
const api = config.makeApiClient(CoreV1Api)
const started = performance.now()
const { items } = await api.listNamespacedConfigMap({ namespace })
const count = items.filter(item => item.data?.text !== undefined).length
console.log(JSON.stringify({ count, ms: performance.now() - started }))
process.exit()
