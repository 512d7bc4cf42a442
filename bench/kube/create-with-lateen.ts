/** `create-with-lateen.ts KUBECONFIG NAMESPACE FIRST COUNT PAYLOAD`: creates ConfigMaps with our client, 32 at a time. */
import { createKubeClient, loadKubeConfig } from '@lateen/kube'
import {
  type BenchConfigMap,
  ConfigMapKind,
  configMap,
  readCreateArguments,
  runInParallel,
} from './config-map.ts'

const { kubeconfig, namespace, first, count, payload } = readCreateArguments(process.argv)
await using client = await createKubeClient({ config: await loadKubeConfig({ path: kubeconfig }) })
const configMaps = client.resource<BenchConfigMap>(ConfigMapKind, namespace)
const started = performance.now()
await runInParallel(count, async number => {
  await configMaps.create(configMap(first + number, payload))
})
console.log(JSON.stringify({ count, ms: performance.now() - started }))
