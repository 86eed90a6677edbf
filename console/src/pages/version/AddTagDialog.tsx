import type { Squid } from '@shoal/contract'
import { useQuery } from '@tanstack/react-query'
import { useApiMutation } from '../../api/mutation.ts'
import { q } from '../../api/query.ts'
import { confirm } from '../../components/confirm.ts'
import { changedByActions } from '../../components/squid/use-squid-actions.tsx'
import { FormShell } from '../../components/FormShell.tsx'
import { LazyDialog } from '../../components/LazyDialog.tsx'
import { Button } from '../../ui/Button.tsx'
import { TextField } from '../../ui/TextField.tsx'
import { tagHolders } from './tag-holders.ts'

type Props = { squid: Squid; onClose: () => void }

/** Adds a new tag, or moves the tag of another version of the squid after a confirmation. */
export default function AddTagDialog({ squid, onClose }: Props) {
  const code = squid.organization.code
  const siblings = useQuery(q('squids.list', { params: { code }, query: { name: squid.name } }))
  const holders = tagHolders(siblings.data ?? [], squid)
  const setTag = useApiMutation('squids.setTag', {
    invalidates: changedByActions,
    errorDisplay: 'caller',
  })
  const assign = (tag: string) => setTag.mutateAsync({ params: { code, reference: squid.reference, tag } })
  const submit = ({ tag }: { tag: string }) => {
    const holder = holders.get(tag)
    if (holder === undefined) void assign(tag).then(onClose, () => null)
    else confirmMove(tag, holder)
  }
  const confirmMove = (tag: string, holder: string) => {
    onClose()
    confirm({
      title: `Move ${tag} to ${squid.reference}?`,
      body: `The tag is on ${holder} now. After the move its URL leads to ${squid.reference}; ${holder} keeps running.`,
      confirmLabel: 'Move tag',
      action: () => assign(tag),
    })
  }
  return (
    <LazyDialog title={`Add a tag to ${squid.reference}`} isOpen onClose={onClose}>
      <p className="mb-4">A tag has a URL of its own, which stays the same when the tag moves to another version.</p>
      <FormShell
        schema={({ z, TagName }) => z.object({ tag: TagName })}
        values={{ tag: '' }}
        onSubmit={submit}
        pending={setTag.isPending}
        submitError={setTag.error}
        submitLabel="Add tag"
        secondary={<Button onClick={onClose}>Cancel</Button>}
        disabledReasonOf={({ tag }) =>
          squid.tags.some(({ name }) => name === tag) ? 'The version already has this tag.' : null
        }
        isGuarded={false}
      >
        {({ field, form }) => (
          <>
            <TextField
              label="Tag"
              description={moveNote(holders, form.watch('tag')) ?? 'Min 2, max 32 symbols.'}
              autoComplete="off"
              spellCheck={false}
              isMono
              autoFocus
              {...field('tag')}
            />
            {holders.size > 0 && (
              <div className="flex flex-wrap items-center gap-1.5 text-sm">
                <span>Move from another version:</span>
                {[...holders].map(([tag, holder]) => (
                  <Button
                    key={tag}
                    size={28}
                    data-tip={`On ${holder}`}
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

function moveNote(holders: ReadonlyMap<string, string>, tag: string): string | null {
  const holder = holders.get(tag)
  return holder === undefined ? null : `It is on ${holder} and will move from there.`
}
