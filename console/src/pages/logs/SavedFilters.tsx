import { Bookmark, BookmarkMinus, BookmarkPlus } from 'lucide-react'
import { createLocalList } from '../../components/local-list.ts'
import { groupsOf, type Action } from '../../ui/action.ts'
import { IconButton } from '../../ui/IconButton.tsx'
import { MenuButton } from '../../components/MenuButton.tsx'
import { useLogsSearch, useSetLogsSearch } from './filters.ts'
import { isSameFilter, isSavedFilter, keyOf, labelOfSaved, savedFilterOf, searchOfSaved } from './saved-filters.ts'

const useSavedFilters = createLocalList('logFilters', isSavedFilter)

/** A menu that saves the current filters of the logs, and applies saved ones. All versions of the organization share the saved filters. */
export function SavedFilters() {
  const { items, save } = useSavedFilters()
  const current = savedFilterOf(useLogsSearch())
  const setSearch = useSetLogsSearch()
  const isSaved = current !== null && items.some((item) => isSameFilter(item, current))
  const changeAction: Action = isSaved
    ? {
        label: 'Remove these filters from the list',
        icon: BookmarkMinus,
        run: () => save(items.filter((item) => !isSameFilter(item, current))),
      }
    : {
        label: 'Save these filters',
        icon: BookmarkPlus,
        disabledReason: current === null ? 'Select containers, levels, a text or times first.' : null,
        run: () => current && save([current, ...items]),
      }
  const savedActions = items.map((item) => ({
    id: keyOf(item),
    label: labelOfSaved(item),
    section: 'Saved filters',
    run: () => setSearch(searchOfSaved(item)),
  }))
  return (
    <MenuButton
      label="Saved filters"
      groups={groupsOf([...savedActions, changeAction])}
      renderTrigger={(trigger) => (
        <IconButton
          {...trigger}
          label="Saved filters"
          variant="secondary"
          icon={<Bookmark size={14} aria-hidden fill={isSaved ? 'currentColor' : 'none'} />}
        />
      )}
    />
  )
}
