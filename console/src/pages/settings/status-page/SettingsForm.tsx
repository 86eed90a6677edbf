import { cx } from '../../../ui/classes.ts'
import { labelClass } from '../../../ui/Field.tsx'
import { alertRules, statusAlertKinds, statusPageLimits, type StatusAlertKind, type StatusPage } from '@shoal/contract'
import { useQuery } from '@tanstack/react-query'
import { useApiMutation } from '../../../api/mutation.ts'
import { seed } from '../../../api/seed.ts'
import { squidsQuery } from '../../../api/squids.ts'
import { useDeniedReason } from '../../../components/access.tsx'
import { FormShell } from '../../../components/FormShell.tsx'
import { toast } from '../../../lib/toasts.ts'
import { Checkbox } from '../../../ui/Checkbox.tsx'
import { TextField } from '../../../ui/TextField.tsx'
import { tagChoices, tagKey, withTag } from './tag-choices.ts'

/** A form that turns the page on or off, and changes its settings. */
export function SettingsForm({ code, page }: { code: string; page: StatusPage }) {
  const deniedReason = useDeniedReason('organization.write')
  const squids = useQuery(squidsQuery(code)).data
  const save = useApiMutation('statusPage.update', {
    invalidates: ['statusPage.get'],
    seeds: (client, changed) => seed(client, 'statusPage.get', { params: { code } }, () => changed),
    errorDisplay: 'caller',
    onSuccess: ({ isEnabled }) =>
      toast({ tone: 'good', title: isEnabled ? 'The status page is public' : 'The status page is off' }),
  })
  const { url: _, previewUrl: __, ...values } = page
  return (
    <FormShell
      schema={({ contract }) => contract.statusPage.update.body}
      values={values}
      onSubmit={(body) => save.mutate({ params: { code }, body })}
      isPending={save.isPending}
      submitError={save.error}
      submitLabel="Save"
      disabledReasonOf={() => deniedReason}
    >
      {({ field, form }) => {
        const tags = form.watch('tags')
        const kinds = form.watch('alertKinds')
        const setTags = (changed: StatusPage['tags']) => form.setValue('tags', changed, { shouldDirty: true })
        const setKind = (kind: StatusAlertKind, isOn: boolean) =>
          form.setValue('alertKinds', isOn ? [...kinds, kind] : kinds.filter((other) => other !== kind), {
            shouldDirty: true,
          })
        return (
          <>
            <Checkbox description="Anyone with the address can see the page." {...form.register('isEnabled')}>
              Publish the status page
            </Checkbox>
            <TextField label="Title" autoComplete="off" className="max-w-100" {...field('title')} />
            <TextField
              label="Address"
              description="The last part of the URL. Earlier addresses stop working, and stay reserved for you for 90 days."
              autoComplete="off"
              isMono
              className="max-w-100"
              {...field('slug')}
            />
            <fieldset className="flex flex-col gap-2.5">
              <legend className={cx(labelClass, 'mb-1.5')}>Tags on the page</legend>
              <p className="text-sm text-ink-3">
                At most {statusPageLimits.tags}. Visitors see only the name that you enter, not the squid or the tag.
              </p>
              {tagChoices(squids ?? [], values.tags).map((choice) => {
                const index = tags.findIndex((tag) => tagKey(tag) === tagKey(choice))
                return (
                  <div key={tagKey(choice)} className="flex flex-wrap items-center gap-x-4 gap-y-1.5">
                    <Checkbox
                      className="basis-80"
                      checked={index >= 0}
                      onChange={(event) => setTags(withTag(tags, choice, event.target.checked))}
                    >
                      <code>{tagKey(choice)}</code>
                    </Checkbox>
                    {index >= 0 && (
                      <TextField
                        label={`Public name of ${tagKey(choice)}`}
                        isLabelHidden
                        autoComplete="off"
                        className="min-w-0 flex-1 basis-60"
                        {...field(`tags.${index}.name`)}
                      />
                    )}
                  </div>
                )
              })}
              {squids && tagChoices(squids, values.tags).length === 0 && (
                <p className="text-ink-2">No squid has a tag yet. Set one on the page of a version.</p>
              )}
            </fieldset>
            <fieldset className="flex flex-col gap-2.5">
              <legend className={cx(labelClass, 'mb-1.5')}>Alerts that open an incident</legend>
              <p className="text-sm text-ink-3">
                The incident has a fixed text and never shows the reason for the alert. It is resolved when the alert
                ends.
              </p>
              {statusAlertKinds.map((kind) => (
                <Checkbox
                  key={kind}
                  checked={kinds.includes(kind)}
                  onChange={(event) => setKind(kind, event.target.checked)}
                >
                  {alertRules[kind].title}
                </Checkbox>
              ))}
            </fieldset>
          </>
        )
      }}
    </FormShell>
  )
}
