import { allKinds, crdFor } from '@lateen/api'
import { installLabels } from './labels.ts'

/** The CustomResourceDefinitions of all velero.io kinds, labelled as parts of an installation. */
export function customResourceDefinitions(): CustomResourceDefinition[] {
  return allKinds.map(kind => {
    const crd = crdFor(kind)
    return { ...crd, metadata: { ...crd.metadata, labels: { ...crd.metadata.labels, ...installLabels } } }
  })
}

type CustomResourceDefinition = ReturnType<typeof crdFor>
