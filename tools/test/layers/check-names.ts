const drawers = new Set(['utils', 'util', 'common', 'helpers', 'helper', 'misc', 'types'])

/**
 * The paths below `packages/<name>/src` with a folder or file whose name says nothing about what is in it. A name counts
 * whatever its extension is, with or without `.test`.
 */
export function findDrawers(paths: Iterable<string>): string[] {
  return [...paths].filter(path => {
    const [packages, , src, ...names] = path.split('/')
    if (packages !== 'packages' || src !== 'src') return false
    return names.some(name => drawers.has(name.replace(/\..*$/, '').toLowerCase()))
  })
}
