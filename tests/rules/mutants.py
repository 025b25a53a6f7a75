"""Each rule with graphs that have the fault it reports, and the same graphs without the fault.

A graph is a case of the small graphs by its name, or a function that writes one.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

from faulty_graphs import (
    LOCAL,
    TEXT,
    blocked_transposes,
    body_before_maker,
    circle_of_functions,
    constant_of_type,
    external_at,
    function_imports,
    island_in_function,
    metadata_in_both_caches,
    misdeclared,
    moved_ids,
    node_names_in_branch,
    node_property,
    op_of_domain,
    output_named_like_input,
    placeholder_in_function,
    report_of,
    side_file,
    timestep,
    timestep_in_branch,
    timestep_in_function,
    two_dd_names,
    untyped_output,
    vae_with,
)

from fixtures.small_graphs import write
from fixtures.small_graphs.base import small
from fixtures.small_graphs.build import (
    BOOL,
    FLOAT,
    INT64,
    OPSETS,
    UINT8,
    save,
)

Graph = str | Callable[[Path], Path]


class Mutant(NamedTuple):
    """A rule, a graph that it must report, and one that it must not."""

    rule: str
    faulty: Graph
    sound: Graph

    @property
    def label(self) -> str:
        return f"{self.rule}-{_name(self.faulty)}"


def _name(graph: Graph) -> str:
    if isinstance(graph, partial):
        return "-".join((graph.func.__name__, *graph.keywords))
    return graph if isinstance(graph, str) else graph.__name__


def make(graph: Graph, folder: Path) -> Path:
    return write(graph, folder) if isinstance(graph, str) else graph(folder)


TO_PATH = 'File "{}", line 7, in forward'
MUTANTS: tuple[Mutant, ...] = (
    Mutant("DD001", "no_dd_node", "sound"),
    Mutant("DD001", "no_node", "sound"),
    Mutant("DD002", "metadata_missing", "sound"),
    Mutant("DD002", "t2_no_metadata", "t1_vae_mini"),
    Mutant("DD002", "metadata_renamed", "sound"),
    Mutant("DD002", "metadata_cut", "metadata_hidden_folder"),
    Mutant("DD003", "metadata_partial", "sound"),
    Mutant("DD003", "t2_partial_metadata", "t2_no_metadata"),
    Mutant("DD004", "repeated_in_replaced", "sound"),
    Mutant("DD004", "shared_op_name", "sound_two_dd"),
    Mutant("DD004", "t2_name_in_two_files", "t1_vae_mini"),
    Mutant("DD004", metadata_in_both_caches, partial(metadata_in_both_caches, second=False)),
    Mutant("DD004", "t9_names", "metadata_combined"),
    Mutant("DD005", "replaced_missing", "sound"),
    Mutant("DD005", "replaced_and_metadata_missing", "metadata_missing"),
    Mutant("DD006", "metadata_extra_op", "sound"),
    Mutant("DD006", "metadata_other_order", "sound"),
    Mutant("DD006", "metadata_other_order", "repeated_in_replaced"),
    Mutant("DD006", "metadata_other_order", "metadata_partial"),
    Mutant("DD007", "t3_contradicts_graph", "t3_report"),
    Mutant("DD007", "t3_contradicts_itself", "t3_width_60"),
    Mutant("DD007", partial(report_of, described=vae_with(op_type="Relu")), partial(report_of, described=vae_with())),
    Mutant("DD007", partial(report_of, described=vae_with(rows=65)), "t3_names"),
    Mutant("DD007", partial(report_of, described=vae_with(), op_types=("SDConv",)), "t3_comparison"),
    Mutant("DD008", "t3_contradicts_itself", "t3_report"),
    Mutant("DD008", "t3_contradicts_graph", "t3_utf16"),
    Mutant("DD009", "t7_if", "sound"),
    Mutant("DD009", "t8_called_twice", "t11_chain"),
    Mutant("DD010", "metadata_renamed", "sound"),
    Mutant("DD010", "t2_name_in_two_files", "metadata_combined"),
    Mutant("DD011", "metadata_foreign", "sound"),
    Mutant("DD011", "t3_truncated", "t3_report"),
    Mutant("DD012", "replaced_and_metadata_missing", "replaced_missing"),
    Mutant("DD012", "replaced_and_metadata_missing", "metadata_missing"),
    Mutant("DD101", "cast_pair", "sound_two_dd"),
    Mutant("DD101", "cast_pair", "cast_pair_middle_is_output"),
    Mutant("DD101", "t11_chain", "t11_middle_is_output"),
    Mutant("DD101", "t11_chain", "cast_pair_float16"),
    Mutant("DD102", "cast_pair_float16", "cast_pair"),
    Mutant("DD102", "cast_pair_on_cpu", "no_cast_pair_on_cpu"),
    Mutant("DD103", "transpose_pair", "transpose_pair_other_perm"),
    Mutant("DD103", "t11_chain", "t11_other_perm"),
    Mutant("DD104", "island_relu", "cast_pair"),
    Mutant("DD104", "island_add", "sound_two_dd"),
    Mutant("DD104", "island_in_one_region", "three_in_a_row"),
    Mutant("DD104", island_in_function, partial(island_in_function, op_type="CastAvx")),
    Mutant("DD105", "timestep_in_bf16", "timestep_by_sinusoid"),
    Mutant("DD105", "ids_in_bf16", "ids_by_embedding"),
    Mutant("DD105", "ids_in_bf16", "float_timestep_by_sinusoid"),
    Mutant("DD105", timestep, partial(timestep, op_type="Sqrt")),
    Mutant("DD105", partial(timestep, straight=True), partial(timestep, straight=True, dtype=UINT8)),
    Mutant("DD105", moved_ids, partial(moved_ids, by_shape=True)),
    Mutant("DD105", timestep_in_function, partial(timestep_in_function, dtype=FLOAT)),
    Mutant("DD105", timestep_in_branch, partial(timestep_in_branch, dtype=BOOL)),
    Mutant("DD106", "transpose_pair_blocked", "transpose_pair"),
    Mutant("DD106", blocked_transposes, partial(blocked_transposes, first=(0, 2, 3, 1))),
    Mutant("DD107", "shared_input", "three_in_a_row"),
    Mutant("DD107", "island_relu", "island_in_one_region"),
    Mutant("DD108", untyped_output, partial(untyped_output, with_metadata=True)),
    Mutant("DD201", "left_sd_op", "left_relu"),
    Mutant("DD201", "left_noqdq_op", "rope_cache_pack"),
    Mutant(
        "DD201", partial(placeholder_in_function, op_type="SDGemm"), partial(placeholder_in_function, op_type="Abs")
    ),
    Mutant(
        "DD201",
        partial(placeholder_in_function, op_type="X_noqdq", domain="com.amd"),
        partial(placeholder_in_function, op_type="X_noqdq", domain="com.example"),
    ),
    Mutant("DD202", "rope_cache_pack", "left_relu"),
    Mutant("DD202", "t6_block_float_on_cpu", "t6_block_float"),
    Mutant("DD202", "rope_cache_pack", "left_sd_op"),
    Mutant("DD202", partial(op_of_domain, domain="com.amd"), partial(op_of_domain, domain="com.microsoft")),
    Mutant("DD202", partial(op_of_domain, domain=LOCAL), partial(op_of_domain, domain=LOCAL, function=True)),
    Mutant("DD203", "t4_no_opset_import", "t1_vae_mini"),
    Mutant("DD203", "t7_if_no_opset_import", "t7_if"),
    Mutant("DD203", partial(function_imports, imports={"": 17}), partial(function_imports, imports=OPSETS)),
    Mutant("DD204", "t6_unknown_dtype", "t6_known_dtype"),
    Mutant("DD204", "t6_undefined_dtype", "t6_defined_dtype"),
    Mutant("DD204", partial(constant_of_type, dtype=99), partial(constant_of_type, dtype=FLOAT)),
    Mutant("DD205", "duplicate_node_names", "two_names"),
    Mutant("DD205", "duplicate_node_names", "unnamed_nodes"),
    Mutant("DD205", "two_producers", "one_producer_each"),
    Mutant("DD205", partial(node_names_in_branch, second="n"), partial(node_names_in_branch, second="m")),
    Mutant("DD205", output_named_like_input, partial(output_named_like_input, name="free")),
    Mutant("DD205", "t9_names", "initializer_is_input"),
    Mutant("DD206", "unnamed_nodes", "two_names"),
    Mutant("DD207", "t10_unsorted", "sound"),
    Mutant("DD207", body_before_maker, partial(body_before_maker, ordered=True)),
    Mutant("DD207", "t10_unsorted", "cycle"),
    Mutant("DD208", "cycle", "no_cycle"),
    Mutant("DD208", "cycle", "t10_unsorted"),
    Mutant("DD209", misdeclared, partial(misdeclared, dtype=INT64)),
    Mutant("DD209", misdeclared, circle_of_functions),
    Mutant("DD210", "t9_hostile_dd_name", "t9_hostile_names"),
    Mutant("DD210", partial(two_dd_names, second="dd"), partial(two_dd_names, second="other")),
    Mutant("DD210", partial(two_dd_names, second="DD"), "t8_two_shapes"),
    Mutant("DD211", lambda folder: save(folder, small(dd=""), {}), "metadata_missing"),
    Mutant("DD212", circle_of_functions, partial(circle_of_functions, back="Relu")),
    Mutant("DD212", circle_of_functions, misdeclared),
    Mutant("DD301", "t5_external_data", "t5_present"),
    Mutant("DD301", "t5_absent", "t5_unsafe_location"),
    *(
        Mutant("DD301", partial(external_at, where=where, content=None), partial(external_at, where=where))
        for where in ("initializer", "constant", "function", "body", "sparse")
    ),
    *(
        Mutant("DD302", f"t5_{location}_location", "t5_present")
        for location in ("unsafe", "absolute", "drive", "backslash", "empty")
    ),
    Mutant("DD302", "t5_unsafe_location", "t5_absent"),
    *(
        Mutant("DD302", partial(external_at, where=where, location="../x"), partial(external_at, where=where))
        for where in ("initializer", "constant", "function", "body", "sparse")
    ),
    Mutant(
        "DD302",
        partial(external_at, where="initializer", location="a/../../x"),
        partial(external_at, where="initializer", location="a/../x"),
    ),
    Mutant("DD303", "t5_too_short", "t5_present"),
    Mutant("DD303", "t5_too_short", "t5_absent"),
    Mutant("DD303", "t5_too_short", "t5_data_is_lfs_pointer"),
    Mutant("DD304", "t5_data_is_lfs_pointer", "t5_present"),
    Mutant(
        "DD304",
        partial(side_file, name="dd_metastate_Unet_dd.state"),
        partial(side_file, name="dd_metastate_Unet_dd.state", pointer=False),
    ),
    Mutant("DD304", partial(side_file, name="cache/other_meta.json"), partial(side_file, name="notes.txt")),
    Mutant("DD304", partial(side_file, name="dd_metastate_Unet_dd.fconst"), partial(side_file, name=TEXT)),
    Mutant("DD305", "windows_path_in_properties", "no_path_in_properties"),
    Mutant("DD305", "home_path_in_properties", "no_path_in_properties"),
    *(
        Mutant("DD305", partial(node_property, value=TO_PATH.format(leak)), partial(node_property, value=clean))
        for leak, clean in (
            ("/home/jane/unet.py", "https://example.com/home/jane"),
            ("C:/models/unet.py", "http://example.com"),
            ("\\\\server\\share\\unet.py", "a\\nb"),
            ("/Users/jane/unet.py", "/down_blocks.0/attentions.0"),
            ("/root", "unet/root/data"),
            ("/mnt/c/unet.py", "./mnt/c/unet.py"),
            ("file:///home/jane/unet.py", "diffusers.models.unet"),
        )
    ),
)
