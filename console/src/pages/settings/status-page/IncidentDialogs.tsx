import { cx } from '../../../ui/classes.ts'
import { labelClass } from '../../../ui/Field.tsx'
import {
  incidentStates,
  incidentStateTexts,
  type StatusIncident,
  type StatusPageTag,
  type StatusUpdate,
} from '@shoal/contract'
import type { QueryClient } from '@tanstack/react-query'
import type { UseFormRegisterReturn } from 'react-hook-form'
import { useApiMutation } from '../../../api/mutation.ts'
import { FormShell } from '../../../components/FormShell.tsx'
import { LazyDialog } from '../../../components/LazyDialog.tsx'
import { Button } from '../../../ui/Button.tsx'
import { Checkbox } from '../../../ui/Checkbox.tsx'
import { NativeSelect } from '../../../ui/NativeSelect.tsx'
import { TextArea, TextField } from '../../../ui/TextField.tsx'
import { seedIncident } from './queries.ts'
import { tagKey } from './tag-choices.ts'

/** The options of calls that change an incident. */
const changesIncident = (code: string, onClose: () => void) => ({
  invalidates: ['statusPage.listIncidents' as const],
  seeds: (client: QueryClient, incident: StatusIncident) => seedIncident(client, code, incident),
  errorDisplay: 'caller' as const,
  onSuccess: onClose,
})

const impacts = [
  { id: 'DEGRADED', label: 'Degraded: slow, partly working, or old data' },
  { id: 'OUTAGE', label: 'Outage: requests are not served' },
]
const states = incidentStates.map((id) => ({ id, label: incidentStateTexts[id] }))

type Tag = StatusIncident['tags'][number]
type DialogProps = { code: string; onClose: () => void }

/** Lets the user publish an incident. */
export function NewIncidentDialog({ code, tags, onClose }: DialogProps & { tags: StatusPageTag[] }) {
  const create = useApiMutation('statusPage.createIncident', changesIncident(code, onClose))
  return (
    <LazyDialog title="New incident" isOpen onClose={onClose}>
      <FormShell
        schema={({ contract }) => contract.statusPage.createIncident.body}
        values={{ title: '', impact: 'DEGRADED', tags: [] as Tag[], state: 'INVESTIGATING', text: '' }}
        onSubmit={(body) => create.mutate({ params: { code }, body })}
        isPending={create.isPending}
        submitError={create.error}
        submitLabel="Publish"
        warnsAboutUnsavedChanges={false}
        secondary={<Button onClick={onClose}>Cancel</Button>}
      >
        {({ field, form }) => (
          <>
            <IncidentFields
              field={field}
              tags={tags}
              affected={form.watch('tags')}
              onAffected={(changed) => form.setValue('tags', changed, { shouldDirty: true })}
            />
            <NativeSelect label="State" options={states} {...field('state')} />
            <TextArea label="First update" description="Plain text. Anyone can read it." {...field('text')} />
          </>
        )}
      </FormShell>
    </LazyDialog>
  )
}

/** The props of dialogs about an existing incident. */
type IncidentProps = DialogProps & { incident: StatusIncident }

/** Lets the user change the title, impact and tags of an incident. */
export function EditIncidentDialog({ code, tags, incident, onClose }: IncidentProps & { tags: StatusPageTag[] }) {
  const change = useApiMutation('statusPage.changeIncident', changesIncident(code, onClose))
  const { id, title, impact } = incident
  return (
    <LazyDialog title="Edit incident" isOpen onClose={onClose}>
      <FormShell
        schema={({ contract }) => contract.statusPage.changeIncident.body}
        values={{ title, impact, tags: incident.tags }}
        onSubmit={(body) => change.mutate({ params: { code, incidentId: id }, body })}
        isPending={change.isPending}
        submitError={change.error}
        submitLabel="Save"
        warnsAboutUnsavedChanges={false}
        secondary={<Button onClick={onClose}>Cancel</Button>}
      >
        {({ field, form }) => (
          <IncidentFields
            field={field}
            tags={tags}
            affected={form.watch('tags')}
            onAffected={(changed) => form.setValue('tags', changed, { shouldDirty: true })}
          />
        )}
      </FormShell>
    </LazyDialog>
  )
}

/** Lets the user publish an update of an incident. */
export function NewUpdateDialog({ code, incident, onClose }: IncidentProps) {
  const add = useApiMutation('statusPage.addUpdate', changesIncident(code, onClose))
  return (
    <LazyDialog title={`Update ${incident.title}`} isOpen onClose={onClose}>
      <FormShell
        schema={({ contract }) => contract.statusPage.addUpdate.body}
        values={{ state: incident.updates[0]?.state ?? 'INVESTIGATING', text: '' }}
        onSubmit={(body) => add.mutate({ params: { code, incidentId: incident.id }, body })}
        isPending={add.isPending}
        submitError={add.error}
        submitLabel="Publish"
        warnsAboutUnsavedChanges={false}
        secondary={<Button onClick={onClose}>Cancel</Button>}
      >
        {({ field }) => (
          <>
            <NativeSelect
              label="State"
              description="Resolved ends the incident."
              options={states}
              {...field('state')}
            />
            <TextArea label="Text" description="Plain text. Anyone can read it." autoFocus {...field('text')} />
          </>
        )}
      </FormShell>
    </LazyDialog>
  )
}

/** Lets the user change the text of a published update. */
export function EditUpdateDialog({
  code,
  incidentId,
  update,
  onClose,
}: DialogProps & { incidentId: string; update: StatusUpdate }) {
  const change = useApiMutation('statusPage.changeUpdate', changesIncident(code, onClose))
  return (
    <LazyDialog title="Edit update" isOpen onClose={onClose}>
      <FormShell
        schema={({ contract }) => contract.statusPage.changeUpdate.body}
        values={{ text: update.text }}
        onSubmit={(body) => change.mutate({ params: { code, incidentId, updateId: String(update.id) }, body })}
        isPending={change.isPending}
        submitError={change.error}
        submitLabel="Save"
        warnsAboutUnsavedChanges={false}
        secondary={<Button onClick={onClose}>Cancel</Button>}
      >
        {({ field }) => <TextArea label="Text" {...field('text')} />}
      </FormShell>
    </LazyDialog>
  )
}

type IncidentFieldsProps = {
  field: (name: 'title' | 'impact') => UseFormRegisterReturn & { error?: string }
  tags: StatusPageTag[]
  affected: readonly Tag[]
  onAffected: (tags: Tag[]) => void
}

/** The fields for the title, impact and tags of an incident. */
function IncidentFields({ field, tags, affected, onAffected }: IncidentFieldsProps) {
  return (
    <>
      <TextField label="Title" autoComplete="off" {...field('title')} />
      <NativeSelect label="Impact" options={impacts} {...field('impact')} />
      <AffectedTags tags={tags} affected={affected} onChange={onAffected} />
    </>
  )
}

type AffectedProps = { tags: StatusPageTag[]; affected: readonly Tag[]; onChange: (tags: Tag[]) => void }

/** Lets the user select the affected tags of the page. An incident without tags is about the whole page. */
function AffectedTags({ tags, affected, onChange }: AffectedProps) {
  if (tags.length === 0) return null
  const isAffected = (tag: Tag) => affected.some((other) => tagKey(other) === tagKey(tag))
  return (
    <fieldset className="flex flex-col gap-2">
      <legend className={cx(labelClass, 'mb-1.5')}>Affected tags</legend>
      <p className="text-sm text-ink-3">Without any, the incident is about the whole page.</p>
      {tags.map(({ squid, tag, name }) => (
        <Checkbox
          key={tagKey({ squid, tag })}
          checked={isAffected({ squid, tag })}
          onChange={(event) =>
            onChange(
              event.target.checked
                ? [...affected, { squid, tag }]
                : affected.filter((other) => tagKey(other) !== tagKey({ squid, tag })),
            )
          }
        >
          {name}
        </Checkbox>
      ))}
    </fieldset>
  )
}
