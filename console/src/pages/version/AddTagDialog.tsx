import type { Squid } from '@shoal/contract'
import { useQuery } from '@tanstack/react-query'
import { useApiMutation } from '../../api/mutation.ts'
import { q } from '../../api/query.ts'
import { versionChange } from '../../api/version.ts'
import { confirm } from '../../components/confirm.ts'
import { FormShell } from '../../components/FormShell.tsx'
import { LazyDialog } from '../../components/LazyDialog.tsx'
import { Button } from '../../ui/Button.tsx'
import { TextField } from '../../ui/TextField.tsx'
import { tagsOfOtherVersions } from './tags-of-other-versions.ts'

type Props = { squid: Squid; onClose: () => void }

/** Lets the user add a new tag, or, after a confirmation, move the tag of another version of the squid. */
export default function AddTagDialog({ squid, onClose }: Props) {
  const code = squid.organization.code
  const siblings = useQuery(q('squids.list', { params: { code }, query: { name: squid.name } }))
  const versionsByTag = tagsOfOtherVersions(siblings.data ?? [], squid)
  const setTag = useApiMutation('squids.setTag', {
    ...versionChange,
    errorDisplay: 'caller',
  })
  const assign = (tag: string) => setTag.mutateAsync({ params: { code, reference: squid.reference, tag } })
  const submit = ({ tag }: { tag: string }) => {
    const currentVersion = versionsByTag.get(tag)
    if (currentVersion === undefined) void assign(tag).then(onClose, () => null)
    else confirmMove(tag, currentVersion)
  }
  const confirmMove = (tag: string, currentVersion: string) => {
    onClose()
    confirm({
      title: `Move ${tag} to ${squid.reference}?`,
      body: `The tag is on ${currentVersion} now. After the move, its URL points to ${squid.reference}; ${currentVersion} keeps running.`,
      confirmLabel: 'Move tag',
      action: () => assign(tag),
    })
  }
  return (
    <LazyDialog title={`Add a tag to ${squid.reference}`} isOpen onClose={onClose}>
      <p className="mb-4">A tag has its own URL, which stays the same when the tag moves to another version.</p>
      <FormShell
        schema={({ z, TagName }) => z.object({ tag: TagName })}
        values={{ tag: '' }}
        onSubmit={submit}
        isPending={setTag.isPending}
        submitError={setTag.error}
        submitLabel="Add tag"
        secondary={<Button onClick={onClose}>Cancel</Button>}
        disabledReasonOf={({ tag }) =>
          squid.tags.some(({ name }) => name === tag) ? 'The version already has this tag.' : null
        }
        warnsAboutUnsavedChanges={false}
      >
        {({ field, form }) => (
          <>
            <TextField
              label="Tag"
              description={moveNote(versionsByTag, form.watch('tag')) ?? 'Min 2, max 32 symbols.'}
              autoComplete="off"
              spellCheck={false}
              isMono
              {...field('tag')}
            />
            {versionsByTag.size > 0 && (
              <div className="flex flex-wrap items-center gap-1.5 text-sm">
                <span>Move from another version:</span>
                {[...versionsByTag].map(([tag, version]) => (
                  <Button
                    key={tag}
                    size={28}
                    data-tip={`On ${version}`}
                    onClick={() => form.setValue('tag', tag, { shouldDirty: true, shouldValidate: true })}
                  >
                    {tag}
                  </Button>
                ))}
              </div>
            )}
          </>
        )}
      </FormShell>
    </LazyDialog>
  )
}

function moveNote(versionsByTag: ReadonlyMap<string, string>, tag: string): string | null {
  const version = versionsByTag.get(tag)
  return version === undefined ? null : `It is on ${version} and will move from there.`
}
