import { squidActionChecks, type Squid } from '@shoal/contract'
import { Copy, Plus, Trash2 } from 'lucide-react'
import { useApiMutation } from '../../api/mutation.ts'
import { versionChange } from '../../api/version.ts'
import { ActionButton } from '../../components/ActionButton.tsx'
import { actionOn, actionsOn, useMembership, type ActionOn } from '../../components/actions.ts'
import { copyWithToast } from '../../components/copy-with-toast.ts'
import { MenuButton } from '../../components/MenuButton.tsx'
import { openDialog } from '../../components/open-dialog.ts'
import { groupsOf } from '../../ui/action.ts'
import { lazyPart } from '../../lib/lazy.tsx'
import { cx } from '../../ui/classes.ts'

const AddTagDialog = lazyPart(() => import('./AddTagDialog.tsx'))

type TagContext = { squid: Squid; removeTag: (tag: string) => Promise<unknown> }

const urlOf = (tag: string, { api }: Squid) => api?.urls.find(({ type, name }) => type === 'tag' && name === tag)?.url

/** The actions on a tag of a version. */
const tagActions = {
  copyUrl: {
    label: 'Copy URL',
    icon: Copy,
    disabledReason: (tag, { squid }) => (urlOf(tag, squid) ? null : 'This version has no API.'),
    run: (tag, { squid }) => copyWithToast(urlOf(tag, squid) ?? '', `The URL of ${tag} has been copied`),
  },
  remove: {
    label: 'Remove tag',
    icon: Trash2,
    isDanger: true,
    permission: 'squids.write',
    disabledReason: (_, { squid }) => squidActionChecks.changeTags(squid),
    confirm: (tag, { squid }) => ({
      title: `Remove the tag ${tag}?`,
      body: `Its URL stops working immediately. ${squid.reference} keeps running with its other URLs.`,
      confirmLabel: 'Remove tag',
    }),
    run: (tag, { removeTag }) => removeTag(tag),
  },
} satisfies Record<string, ActionOn<string, TagContext>>

const addTag: ActionOn<Squid, unknown> = {
  label: 'Add tag',
  icon: Plus,
  permission: 'squids.write',
  disabledReason: squidActionChecks.changeTags,
  run: (squid) => openDialog((close) => <AddTagDialog squid={squid} onClose={close} />),
}

/** The tags of a version, each with a menu, and a button that adds a tag. */
export function Tags({ squid }: { squid: Squid }) {
  const membership = useMembership()
  const remove = useApiMutation('squids.removeTag', {
    ...versionChange,
    errorDisplay: 'caller',
  })
  const removeTag = (tag: string) =>
    remove.mutateAsync({ params: { code: squid.organization.code, reference: squid.reference, tag } })
  return (
    <span className="inline-flex flex-wrap items-center gap-1.5">
      {squid.tags.map(({ name }) => (
        <MenuButton
          key={name}
          label={`Tag ${name}`}
          placement="bottom start"
          groups={groupsOf(actionsOn(tagActions, name, { squid, membership, removeTag }))}
          renderTrigger={(trigger) => (
            <button
              type="button"
              {...trigger}
              aria-label={`Tag ${name}`}
              className={cx(
                'inline-flex h-6 items-center rounded-sm bg-accent-soft px-1.5 font-mono text-tag font-medium text-accent',
                'hover:outline hover:outline-accent aria-expanded:outline aria-expanded:outline-accent',
              )}
            >
              {name}
            </button>
          )}
        />
      ))}
      <ActionButton action={actionOn(addTag, squid, { membership })} size={28} variant="ghost" className="h-6 px-1.5" />
    </span>
  )
}
