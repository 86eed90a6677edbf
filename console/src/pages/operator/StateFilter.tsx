import { orgStatuses, planLabels, type OrgStatus } from '@shoal/contract'
import { getRouteApi } from '@tanstack/react-router'
import { useSetSearch } from '../../components/data-table/url-state.ts'
import { NativeSelect } from '../../ui/NativeSelect.tsx'

const route = getRouteApi('/app/admin/organizations')

/** Labels that replace those of the plan. IN_DEBT and TERMINATED have the same plan label, so the filter needs another label for one. */
const stateLabels: Partial<Record<OrgStatus, string>> = { TERMINATED: 'Unpaid, hibernated' }

const states = [
  { id: '', label: 'All states' },
  { id: 'SUSPENDED', label: 'Suspended' },
  ...orgStatuses.map((id) => ({ id, label: stateLabels[id] ?? planLabels[id] })),
  { id: 'PLAYGROUND', label: 'Playgrounds' },
] as const

/** The state that the URL selects; undefined for all states or an unknown one. */
export const selectedState = (state: string | undefined) => states.find(({ id }) => id === state)?.id || undefined

/** A field that selects the state of the listed organizations. */
export function StateFilter() {
  const { state } = route.useSearch()
  const setSearch = useSetSearch(route)
  return (
    <NativeSelect
      label="State"
      isLabelHidden
      options={states}
      value={selectedState(state) ?? ''}
      onChange={({ target }) => setSearch({ state: target.value || undefined })}
      className="w-48 max-sm:w-full"
    />
  )
}
