//! The system calls that a sandboxed command does not get: each fails with EPERM. What files it sees is not here.

use std::{collections::BTreeMap, env::consts::ARCH};

use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, TargetArch};

use super::SandboxError;

/// Calls that open a way out, or into other processes and the kernel.
const REFUSED: &[libc::c_long] = &[
    libc::SYS_socket,
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_pidfd_getfd,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_open_tree,
    libc::SYS_move_mount,
    libc::SYS_fsopen,
    libc::SYS_fsmount,
    libc::SYS_mount_setattr,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_kexec_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_open_by_handle_at,
    libc::SYS_mknodat,
    libc::SYS_swapon,
    libc::SYS_reboot,
];

/// Refuses them from now on, for this process and everything it starts.
pub(super) fn apply() -> Result<(), SandboxError> {
    let failed = |error: &dyn std::error::Error| {
        SandboxError::Missing("seccomp filters", std::io::Error::other(error.to_string()))
    };
    let arch = TargetArch::try_from(ARCH).map_err(|error| failed(&error))?;
    let rules: BTreeMap<i64, Vec<_>> = REFUSED.iter().map(|call| (*call, Vec::new())).collect();
    let errno = u32::try_from(libc::EPERM).unwrap_or(1);
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, SeccompAction::Errno(errno), arch)
        .map_err(|error| failed(&error))?;
    let program = BpfProgram::try_from(filter).map_err(|error| failed(&error))?;
    seccompiler::apply_filter(&program).map_err(|error| failed(&error))
}
