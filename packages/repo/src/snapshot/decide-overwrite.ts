/** What stands where an entry is to be restored. */
export type Existing = 'nothing' | 'file' | 'symlink' | 'empty folder' | 'folder' | 'other'

/** What may be replaced in the target. */
export interface OverwriteRules {
  files: boolean
  symlinks: boolean
  /** False accepts an existing folder only when it is empty. */
  folders: boolean
  /** True lets anything give way, whole folders included. */
  deleteExtra: boolean
}

/** How an entry comes to its place. `merge` restores into the folder that is there. */
export type Placement = 'create' | 'merge' | 'replace' | 'refuse'

/** Decides what happens to what is already there. */
export function decideOverwrite(
  wanted: 'file' | 'symlink' | 'folder',
  existing: Existing,
  rules: OverwriteRules,
): Placement {
  switch (existing) {
    case 'nothing':
      return 'create'
    case 'file':
      return rules.files || rules.deleteExtra ? 'replace' : 'refuse'
    case 'symlink':
      return rules.symlinks || rules.deleteExtra ? 'replace' : 'refuse'
    case 'empty folder':
      return wanted === 'folder' ? 'merge' : onlyWhenDeleting(rules)
    case 'folder':
      if (wanted === 'folder') return rules.folders ? 'merge' : 'refuse'
      return onlyWhenDeleting(rules)
    case 'other':
      return onlyWhenDeleting(rules)
  }
}

function onlyWhenDeleting(rules: OverwriteRules): Placement {
  return rules.deleteExtra ? 'replace' : 'refuse'
}
