import { validLabelValue } from '@lateen/api'

/** Init containers that copy plugins into the server's plugin folder; names come from the images, made unique. */
export function pluginContainers(images: readonly string[], imagePullPolicy: string): object[] {
  const taken = new Set<string>()
  return images.map(image => {
    const container = pluginContainer(image, imagePullPolicy, taken)
    taken.add(container.name)
    return container
  })
}

/** The init container of one plugin, under a name that is not taken. */
export function pluginContainer(image: string, imagePullPolicy: string, taken: ReadonlySet<string>) {
  return {
    name: uniqueName(pluginContainerName(image), taken),
    image,
    imagePullPolicy,
    resources: {},
    volumeMounts: [{ mountPath: '/target', name: 'plugins' }],
  }
}

/**
 * The name Velero gives a plugin's container: the image without registry (when there is one), tag and digest, in the
 * characters of a DNS label.
 */
export function pluginContainerName(image: string): string {
  const slash = image.indexOf('/')
  const hasRegistry = slash === 0 || (slash > 0 && image.indexOf('/', slash + 1) > 0)
  const repository = image.replace(/@.*$/, '').replace(/:[^/:]*$/, '')
  return validLabelValue(repository.slice(hasRegistry ? slash + 1 : 0).replace(/[/_.:]/g, '-'))
}

function uniqueName(name: string, taken: ReadonlySet<string>): string {
  if (!taken.has(name)) return name
  for (let count = 2; ; count += 1) {
    const numbered = `${name.slice(0, 57).replace(/-$/, '')}-${count}`
    if (!taken.has(numbered)) return numbered
  }
}
